import type { Hex, NewSubscription } from 'intentbook';
import { createApi } from 'intentbook';
import { composeApis, createAccountApi } from 'intentbook/accounts';
import { expect, test } from 'vitest';
import { described } from '../../integration/http/described.ts';
import { directFixture } from '../../integration/http/http-fixture.ts';
import { accountFixture } from './account-api-fixture.ts';

const TOKEN = 'a-token-of-the-operator';
const OPERATOR = { headers: { authorization: `Bearer ${TOKEN}` } };
const ALICE: Hex = '0x00000000000000000000000000000000000a11ce';
const PATH = '/restricted/deliveries';

/** An account interface with three dead deliveries. */
async function fixture(operatorToken: string | undefined = TOKEN) {
  const { accounts, book, store, clock } = await accountFixture();
  const now = clock.now();
  const subscription: NewSubscription['subscription'] = {
    id: 'subscription',
    account: ALICE,
    channel: 'webhook',
    target: 'https://example.org',
    types: ['order_filled'],
    state: 'active',
    secret: null,
    createdAt: now,
  };
  await store.subscriptions.create({
    subscription,
    nonce: { account: ALICE, nonce: '1', expiresAt: now },
    quota: 1,
    now,
  });
  const changes = ['a', 'b', 'c'].map((id) => ({
    type: 'notify' as const,
    notification: { id, account: ALICE, type: 'order_filled' as const, at: now, body: '{}' },
  }));
  await store.notifications.append({ feed: 'test', after: null, through: 1, changes });
  for (let i = 0; i < 3; i++) {
    const { claimed } = await store.deliveries.claim({ now, until: now + 1, limit: 1 });
    for (const { seq, claim } of claimed)
      await store.deliveries.recordResult({ seq, claim, outcome: { status: 'dead', error: 'responded with 500' } });
  }
  const api = createAccountApi(accounts, operatorToken === '' ? {} : { operatorToken });
  return { store, book, api, ...described(directFixture(api, () => clock.now() / 1000)) };
}

test('lists dead deliveries page by page, and those of another state', async () => {
  const { send } = await fixture();
  const first = await send('GET', `${PATH}?limit=2`, OPERATOR);
  expect(first.status).toBe(200);
  expect(first.json()).toEqual(
    ['a', 'b'].map((notification, i) => ({
      seq: i + 1,
      subscription: 'subscription',
      notification,
      account: ALICE,
      channel: 'webhook',
      state: 'dead',
      attempts: 1,
      error: 'responded with 500',
    })),
  );
  expect((await send('GET', `${PATH}?limit=2&after=2`, OPERATOR)).json()).toMatchObject([{ notification: 'c' }]);
  expect((await send('GET', `${PATH}?state=pending`, OPERATOR)).json()).toEqual([]);
});

test('replays the named deliveries, then all others', async () => {
  const { send, store } = await fixture();
  const replayed = await send('POST', `${PATH}/replay?seq=1,3,7`, OPERATOR);
  expect([replayed.status, replayed.json()]).toEqual([200, { replayed: 2 }]);
  expect(await store.deliveries.count()).toEqual({ pending: 2, dead: 1, suspended: 0 });
  expect((await send('POST', `${PATH}/replay`, OPERATOR)).json()).toEqual({ replayed: 1 });
});

test.each([
  ['a wrong token', TOKEN, { headers: { authorization: 'Bearer a-token-of-another' } }],
  ['no token', TOKEN, {}],
  ['an interface without a token', '', OPERATOR],
])('rejects %s', async (_, token, sent) => {
  const { send, store } = await fixture(token);
  for (const [method, path] of [['GET', PATH] as const, ['POST', `${PATH}/replay`] as const]) {
    const answer = await send(method, path, sent);
    expect(answer.status).toBe(403);
    expect(answer.json()).toEqual({ message: expect.stringContaining('operator token') });
  }
  expect(await store.deliveries.count()).toEqual({ pending: 0, dead: 3, suspended: 0 });
});

test.each([
  ['GET', `${PATH}?state=lost`, 'state: must be one of pending, delivered, dead, dropped'],
  ['GET', `${PATH}?limit=0`, 'limit: must be 1 to 1000'],
  ['GET', `${PATH}?limit=1001`, 'limit: must be 1 to 1000'],
  ['GET', `${PATH}?after=x`, 'after: must be a whole number'],
  ['POST', `${PATH}/replay?seq=`, 'seq: must be at most 1000 whole numbers, separated by commas'],
  ['POST', `${PATH}/replay?seq=1,-2`, 'seq: must be at most 1000 whole numbers, separated by commas'],
])('rejects %s %s', async (method, path, message) => {
  const { send } = await fixture();
  const answer = await send(method, path, OPERATOR);
  expect([answer.status, answer.json()]).toEqual([400, { message }]);
});

test('leaves the other paths for operators to the interface of the book', async () => {
  const { api, book } = await fixture();
  const both = directFixture(composeApis(api, createApi(book, { operatorToken: TOKEN })), () => 0);
  expect((await both.send('GET', PATH, OPERATOR)).status).toBe(200);
  const answer = await both.send('POST', '/restricted/api/v1/competition');
  expect([answer.status, answer.json()]).toMatchObject([403, { errorType: 'Forbidden' }]);
});
