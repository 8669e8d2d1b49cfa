// A booking page over reservation. Connects through PGHOST, PGDATABASE and PGUSER; PORT is where it listens.
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

const pool = new pg.Pool();
const page = fileURLToPath(new URL('page.html', import.meta.url));

// What a person reads, by the SQLSTATE of the refusal.
const refusals = {
  '23P01': 'Somebody else was faster.',
  P0002: 'There is no such hold of yours.',
  RV001: 'Your hold has run out.',
  RV002: 'This hold was cancelled.',
  RV008: 'No bookings are taken at present.',
};

const holdRow = `SELECT hold_id, lower(during) AS starts, state, expires_at, clock_timestamp() AS now
                 FROM hold_get($1, $2) WHERE hold_id IS NOT NULL`;

// Each takes the fields of the request and returns rows. The holder comes from the visitor's session cookie, so nobody
// confirms or cancels what another visitor holds.
const actions = {
  __proto__: null,
  gaps: ({ room, from, to }) => pool.query(
    'SELECT lower(gap) AS starts, upper(gap) AS ends FROM room_availability($1, tstzrange($2, $3)) AS gap',
    [room, from, to]),
  acquire: async ({ room, from, to, key, visitor }) => {
    const { rows } = await pool.query(
      'SELECT hold_acquire(room_claim($1, tstzrange($2, $3)), $4, $5, $6) AS id',
      [room, from, to, process.env.HOLD_FOR ?? '2 minutes', visitor, key]);
    return pool.query(holdRow, [rows[0].id, visitor]);
  },
  get: ({ hold, visitor }) => pool.query(holdRow, [hold, visitor]),
  confirm: ({ hold, visitor }) => pool.query('SELECT hold_confirm($1, NULL, $2) AS state', [hold, visitor]),
  cancel: ({ hold, visitor }) => pool.query('SELECT hold_cancel($1, NULL, $2) AS state', [hold, visitor]),
};

async function body(request) {
  let text = '';
  for await (const chunk of request) {
    text += chunk;
    if (text.length > 10_000) throw Object.assign(new Error('request too large'), { status: 413 });
  }
  return JSON.parse(text || '{}');
}

const visitorOf = (request) => /(?:^|; )visitor=([\w-]{8,64})/.exec(request.headers.cookie ?? '')?.[1];

const server = http.createServer(async (request, response) => {
  const reply = (status, type, content) => response.writeHead(status, { 'content-type': type }).end(content);
  try {
    const { pathname } = new URL(request.url, 'http://localhost');
    const action = pathname.startsWith('/api/') && actions[pathname.slice('/api/'.length)];
    if (request.method === 'GET' && pathname === '/') {
      if (!visitorOf(request))
        response.setHeader('set-cookie', `visitor=${crypto.randomUUID()}; HttpOnly; SameSite=Strict; Path=/`);
      reply(200, 'text/html; charset=utf-8', await readFile(page));
    } else if (request.method === 'POST' && action) {
      const visitor = visitorOf(request);
      if (!visitor) return reply(403, 'application/json', JSON.stringify({ message: 'Load the page first.' }));
      const { rows } = await action({ ...(await body(request)), visitor });
      reply(200, 'application/json', JSON.stringify(rows));
    } else {
      reply(404, 'text/plain', 'not found');
    }
  } catch (error) {
    const status = error.status ?? (refusals[error.code] ? 409 : 400);
    reply(status, 'application/json', JSON.stringify({
      code: error.code, message: refusals[error.code] ?? 'That did not work.' }));
  }
});

server.listen(process.env.PORT ?? 0, '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${server.address().port}/`));
