// The page in headless Chromium: two visitors want one slot; a hold is confirmed, one runs out.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { chromium } from 'playwright-core';

const week = '2030-01-07';
let server, browser, url;

// Bookings of other people: day of the week, first hour, hours.
const booked = [[0, 9, 1], [1, 11, 3], [2, 9, 2], [2, 14, 2], [3, 10, 1], [3, 13, 4], [4, 9, 5], [5, 16, 2]];

before(async () => {
  const client = new pg.Client();
  await client.connect();
  for (const [day, hour, hours] of booked)
    await client.query(`SELECT hold_confirm(hold_acquire(room_claim(1, tstzrange(start, start + $4 * interval '1 hour'))))
      FROM (SELECT ($1 || ' 00:00+00')::timestamptz + $2 * interval '1 day' + $3 * interval '1 hour' AS start) AS s`,
      [week, day, hour, hours]);
  await client.end();
  server = spawn(process.execPath, ['server.js'], {
    env: { ...process.env, PORT: '0', HOLD_FOR: '8 seconds' }, stdio: ['ignore', 'pipe', 'inherit'] });
  url = (await once(server.stdout.setEncoding('utf8'), 'data'))[0].trim();
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'] });
});

after(async () => {
  await browser?.close();
  server?.kill();
});

async function visitor() {
  const page = await (await browser.newContext({ viewport: { width: 1000, height: 640 } })).newPage();
  await page.goto(`${url}?week=${week}`);
  await page.waitForSelector('body[data-ready]');
  return page;
}

const slot = (page, hour, day = week) => page.locator(`button[data-starts="${day}T${hour}:00:00.000Z"]`);

test('two visitors race for one slot: one holds it, the other is told', async () => {
  const [ann, ben] = await Promise.all([visitor(), visitor()]);
  await Promise.all([slot(ann, '10').click(), slot(ben, '10').click()]);
  await Promise.all([ann, ben].map((page) => page.waitForFunction(() => text.textContent !== 'Choose a free hour.')));
  const said = await Promise.all([ann, ben].map((page) => page.textContent('#text')));
  assert.equal(said.filter((text) => text === '2030-01-07 10:00 is held for you.').length, 1, said.join(' | '));
  assert.equal(said.filter((text) => text === 'Somebody else was faster.').length, 1, said.join(' | '));

  const winner = said[0].includes('held') ? ann : ben;
  const loser = winner === ann ? ben : ann;
  assert.match(await winner.textContent('#clock'), /^0:0[0-8]$/);
  await slot(loser, '14').click();
  await loser.waitForSelector('button.mine');
  assert.equal(await slot(loser, '14').textContent(), 'yours');
  if (process.env.SCREENSHOT) await loser.screenshot({ path: process.env.SCREENSHOT });
  await winner.getByText('Confirm', { exact: true }).click();
  await winner.waitForSelector('#panel.done');
  assert.equal(await slot(winner, '10').textContent(), 'booked');
});

test('a hold that runs out is free for the next visitor', async () => {
  const [carol, dan] = await Promise.all([visitor(), visitor()]);
  await slot(carol, '16').click();
  await carol.waitForSelector('#clock');
  await carol.waitForFunction(() => text.textContent === 'Your hold has run out.', null, { timeout: 20_000 });
  await slot(dan, '16').click();
  await dan.waitForSelector('#clock');
  await dan.getByText('Give it back').click();
  await dan.waitForFunction(() => text.textContent === 'Choose a free hour.');
  assert.equal(await slot(dan, '16').textContent(), 'free');
});

test('what is booked cannot be chosen', async () => {
  const page = await visitor();
  assert.equal(await slot(page, '09').isDisabled(), true);
  assert.equal(await page.locator('button.busy').count() >= 19, true);
});

test('nobody confirms the hold of another visitor', async () => {
  const [eve, mallory] = await Promise.all([visitor(), visitor()]);
  await slot(eve, '12').click();
  await eve.waitForSelector('#clock');
  const id = await eve.evaluate(() => hold.id);
  const said = await mallory.evaluate((hold) => ask('confirm', { hold }).catch((error) => error.message), id);
  assert.equal(said, 'There is no such hold of yours.');
});
