// Books a room: hold, pay, confirm. Connects through PGHOST, PGDATABASE and PGUSER.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const pool = new pg.Pool();

// One call in its own transaction; the first column of its row.
const call = async (sql, ...values) => Object.values((await pool.query(sql, values)).rows[0])[0];

// The SQLSTATE of a call that is refused.
const refusal = (promise) => promise.then(() => 'not refused', (error) => error.code);

// The payment goes out after a commit that says so: from then on nobody releases the hold. A certain no gives it back. If
// no answer comes, the provider's time-out is thrown past the rest: the hold waits in flight, and then for a person's review.
async function pay(hold, reference, provider) {
  await call('SELECT hold_begin_payment($1, $2)', hold, reference);
  if (await provider(reference)) return call('SELECT hold_confirm($1)', hold);
  await call('SELECT hold_fail_payment($1, $2)', hold, reference);
  return call('SELECT hold_cancel($1)', hold);
}

// Several statements in one transaction, repeated when it lost a race.
async function transaction(work) {
  for (let attempt = 1; ; attempt++) {
    const client = await pool.connect();
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await work(client, attempt);
      await client.query('COMMIT');
      return attempt;
    } catch (error) {
      await client.query('ROLLBACK');
      if (!['40001', '40P01'].includes(error.code) || attempt === 5) throw error;
    } finally {
      client.release();
    }
  }
}

const freeHour = `
  SELECT tstzrange(lower(gap), lower(gap) + '1h') FROM room_availability($1, '[2030-01-01, 2040-01-01)') AS gap
  WHERE upper(gap) - lower(gap) >= '1h' LIMIT 1`;
const acquireRoom = 'SELECT hold_acquire(room_claim($1, $2), $3, $4, $5)';
const acquireUnits = 'SELECT hold_acquire(stock_claim($1, $2), $3, $4)';

// A bigint such as the id of a hold is a string in `pg`, and so is the range. The columns of a hold come from
// SELECT * FROM hold_get($1); SELECT hold_get($1) is one string.
const hour = await call(freeHour, 1);

// The key makes the request safe to repeat when its answer got lost.
const key = randomUUID();
const hold = await call(acquireRoom, 1, hour, '10 minutes', 'ann', key);
console.log('ann holds room 1');
const again = await call(acquireRoom, 1, hour, '10 minutes', 'ann', key);
console.log(`the same key again: ${again === hold ? 'the same hold' : 'another hold'}`);
console.log(`ben wants the same hour: ${await refusal(call(acquireRoom, 1, hour, null, 'ben', null))}`);

console.log(`ann has paid: ${await pay(hold, 'payment-1', async () => true)}`);
console.log(`a second confirm: ${await call('SELECT hold_confirm($1)', hold)}`);
const unit = await call(acquireUnits, 2, 1, null, 'eli');
console.log(`eli's card is refused: ${await pay(unit, 'payment-2', async () => false)}`);

const short = await call(acquireUnits, 2, 1, '50 milliseconds', 'carol');
await sleep(100);
console.log(`carol waited too long: ${await refusal(call('SELECT hold_confirm($1)', short))}`);

const attempts = await transaction(async (client, attempt) => {
  await client.query('SELECT stock_availability($1)', [2]);
  if (attempt === 1) await call(acquireUnits, 2, 1, null, 'somebody faster');
  await client.query(acquireUnits, [2, 1, null, 'dora']);
});
console.log(`dora lost a race and tried again: ${attempts} attempts`);
await pool.end();
