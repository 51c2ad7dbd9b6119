import { afterEach, expect, test } from 'vitest';
import { cleanUp, intentbook } from '../integration/server/process.ts';
import { account } from '../support/orders.ts';

afterEach(cleanUp);

const OPERATOR = 'operator-secret-0123456789';
const GUESS = 'guessed-secret-0123456789';
const TOKEN = 'ab'.repeat(32);
const PROOF = `0x${'cd'.repeat(65)}`;

test.each(['json', 'text'])('credentials of a request are in no line of the %s log', async (log) => {
  const args = ['serve', '--port', '0', '--db', ':memory:', '--accounts', ':memory:', '--log', log];
  const server = intentbook(args, { env: { INTENTBOOK_OPERATOR_TOKEN: OPERATOR } });
  const [, url = ''] = await server.printed(log === 'json' ? /"url":"(http:[^"]+)"/ : /address\s+(http:\S+)/);
  const owner = account(1).address;
  const get = (path: string, authorization: string) => fetch(url + path, { headers: { authorization } });
  const json = { 'content-type': 'application/json' };
  await get('/restricted/api/v2/solver_competition/1', `Bearer ${OPERATOR}`);
  await get('/restricted/api/v2/solver_competition/1', `Bearer ${GUESS}`);
  await get(`/accounts/${owner}/subscriptions/confirm?token=${TOKEN}`, '');
  await get(`/accounts/${owner}/subscriptions`, `Subscription nonce=1, deadline=9999999999, signature=${PROOF}`);
  const subscription = { channel: 'webhook', target: `http://127.0.0.1/${TOKEN}`, types: ['x'], signature: PROOF };
  const body = JSON.stringify(subscription);
  await fetch(`${url}/accounts/${owner}/subscriptions`, { method: 'POST', headers: json, body });
  server.child.kill('SIGTERM');
  const { stdout, stderr } = await server.ended;
  for (const secret of [OPERATOR, GUESS, TOKEN, PROOF]) expect(stdout + stderr).not.toContain(secret);
});
