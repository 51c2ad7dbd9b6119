import assert from 'node:assert/strict';
import type { AccountStore } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import type { Accounts } from 'intentbook/accounts';
import { composeApis, createAccountApi, createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { describe, test } from 'vitest';
import { directFixture } from '../../integration/http/http-fixture.ts';
import { SEPOLIA } from '../../support/orders.ts';

const ACCOUNT = `0x${'ab'.repeat(20)}` as const;
const PATH = `/accounts/${ACCOUNT}/notifications`;

/** Creates an API with `count` notifications of one account, the n-th at n milliseconds. */
async function fixture(
  count: number,
  options: { notifications?: 'off'; break?: (store: AccountStore) => AccountStore } = {},
) {
  const memory = memoryAccountStore();
  const store = options.break?.(memory) ?? memory;
  const failures: unknown[] = [];
  const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
  const accounts = createAccounts({
    books: [book],
    store,
    onFailure: (failure) => failures.push(failure),
    ...(options.notifications && { notifications: options.notifications }),
  });
  await book.start();
  await accounts.start();
  const changes = Array.from({ length: count }, (_, n) => ({
    type: 'notify' as const,
    notification: {
      id: `id-${n}`,
      account: ACCOUNT,
      type: 'order_filled' as const,
      at: n,
      body: JSON.stringify({ id: `id-${n}`, account: ACCOUNT }),
    },
  }));
  await memory.notifications.append({ feed: 'test', after: null, through: 1, changes });
  const close = async () => {
    await accounts.close();
    await book.close();
  };
  return { ...directFixture(createAccountApi(accounts), () => 0), accounts, book, failures, close };
}

const idsOf = (text: string) => (JSON.parse(text) as { id: string }[]).map(({ id }) => id);

describe('GET /accounts/{account}/notifications', () => {
  test('returns an empty list, cacheable for five minutes, for an account without notifications', async () => {
    const { send, close } = await fixture(0);
    const answer = await send('GET', PATH);
    assert.deepEqual([answer.status, answer.text], [200, '[]']);
    assert.equal(answer.header('cache-control'), 'public, max-age=300');
    assert.equal(answer.header('access-control-allow-origin'), '*');
    assert.match(answer.header('content-type') ?? '', /^application\/json/);
    await close();
  });

  test('returns notifications newest first for an account in either case', async () => {
    const { send, close } = await fixture(3);
    const answer = await send('GET', PATH.replace('abab', 'ABAB'));
    assert.deepEqual(idsOf(answer.text), ['id-2', 'id-1', 'id-0']);
    assert.equal(answer.header('link'), undefined);
    await close();
  });

  test.each([
    ['everything without a limit', '', 2500],
    ['a page', 'limit=1000', 1000],
  ])('returns %s in parts of 128', async (_, query, count) => {
    const { send, accounts, close } = await fixture(2500);
    const answer = await createAccountApi(accounts).handle({
      method: 'GET',
      path: PATH,
      query,
      header: () => undefined,
      body: { type: 'none' },
    });
    const parts: string[] = [];
    assert.ok(typeof answer.body === 'object' && Symbol.asyncIterator in answer.body);
    for await (const part of answer.body) parts.push(part);
    assert.deepEqual(
      idsOf(parts.join('')),
      Array.from({ length: count }, (_, n) => `id-${2499 - n}`),
    );
    // Each part is a step of the event loop.
    assert.ok(Math.max(...parts.map((part) => part.split('"id"').length - 1)) <= 128);
    assert.equal((await send('HEAD', PATH)).status, 200);
    await close();
  });

  test('links to the next page', async () => {
    const { send, close } = await fixture(5);
    const seen: string[][] = [];
    for (let path: string | undefined = `${PATH}?limit=2`; path !== undefined; ) {
      const answer = await send('GET', path);
      seen.push(idsOf(answer.text));
      const next: string | undefined = /^<(\?.*)>; rel="next"$/.exec(answer.header('link') ?? '')?.[1];
      path = next && PATH + next;
    }
    assert.deepEqual(seen, [['id-4', 'id-3'], ['id-2', 'id-1'], ['id-0']]);
    await close();
  });

  test.each([
    ['/accounts/0x12/notifications', 'account'],
    ['/accounts/vitalik.eth/notifications', 'account'],
    [`${PATH}?limit=0`, 'limit'],
    [`${PATH}?limit=1001`, 'limit'],
    [`${PATH}?limit=x`, 'limit'],
    [`${PATH}?limit=1&limit=2`, 'limit'],
    [`${PATH}?cursor=x`, 'cursor'],
  ])('rejects %s with 400 without caching', async (path, what) => {
    const { send, close } = await fixture(0);
    const answer = await send('GET', path);
    assert.equal(answer.status, 400);
    assert.equal(answer.header('cache-control'), 'no-store');
    assert.deepEqual(Object.keys(answer.json() as object), ['message']);
    assert.match((answer.json() as { message: string }).message, new RegExp(`^${what}: `));
    await close();
  });

  test('returns 500 without internal details when the store fails', async () => {
    const broken = new Error('SELECT secret FROM passwords');
    const { send, failures, close } = await fixture(0, {
      break: (store) => ({
        ...store,
        notifications: {
          ...store.notifications,
          list: async () => {
            throw broken;
          },
        },
      }),
    });
    const answer = await send('GET', PATH);
    assert.equal(answer.status, 500);
    assert.deepEqual(answer.json(), { message: 'Internal server error' });
    assert.equal(answer.header('cache-control'), 'no-store');
    assert.deepEqual(failures, [broken]);
    await close();
  });

  test('returns 503 when disabled', async () => {
    const { send, close } = await fixture(0, { notifications: 'off' });
    const answer = await send('GET', PATH);
    assert.equal(answer.status, 503);
    assert.deepEqual(answer.json(), { message: 'Notifications are disabled' });
    await close();
  });

  test('rejects other routes and methods in the format of the account interface', async () => {
    const { send, close } = await fixture(0);
    const missing = await send('GET', '/accounts');
    assert.deepEqual([missing.status, missing.json()], [404, { message: 'there is no such route' }]);
    const wrong = await send('DELETE', PATH);
    assert.deepEqual([wrong.status, wrong.header('allow')], [405, 'GET, HEAD']);
    await close();
  });
});

describe('GET /accounts/{account}/notifications/stream', () => {
  test('resumes after a long absence without missing a notification', async () => {
    const { accounts, close } = await fixture(25_000);
    const stream = await accounts.notifications.stream(ACCOUNT, { after: 1 });
    let seen = 1;
    for await (const event of stream) {
      assert.ok(event.type !== 'gap');
      assert.deepEqual([event.type, event.id], ['notification', seen + 1]);
      seen = event.id;
      if (seen === 25_000) break;
    }
    await close();
  });
});

describe('composeApis', () => {
  test('routes each path to the API that handles it, and others to the last API', async () => {
    const { accounts, book, close } = await fixture(1);
    const { send } = directFixture(composeApis(createAccountApi(accounts), createApi(book)), () => 0);
    assert.deepEqual(idsOf((await send('GET', PATH)).text), ['id-0']);
    assert.equal((await send('GET', '/api/v1/version')).status, 200);
    assert.equal((await send('GET', '/elsewhere')).header('content-type'), 'application/json; charset=utf-8');
    const missing = await send('GET', '/elsewhere');
    assert.deepEqual([missing.status, (missing.json() as { errorType?: string }).errorType], [404, 'NotFound']);
    await close();
  });
});

describe('createAccounts', () => {
  test('rejects invalid options', () => {
    const store = memoryAccountStore();
    const book = () => createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
    const rejected: readonly (readonly [unknown, RegExp])[] = [
      [{ books: [], store, notification: 'off' }, /did you mean "notifications"/],
      [{ books: [] }, /store must be an account store such as memoryAccountStore\(\), got undefined/],
      [{ books: {}, store }, /a list of books/],
      [{ books: [{}], store }, /a list of books/],
      [{ books: [], store, notifications: true }, /"on" or "off"/],
      [
        { books: [book(), { book: book(), env: 'other' }], store },
        /books must have different domains, got two of chain 11155111/,
      ],
    ];
    for (const [options, message] of rejected) {
      assert.throws(() => createAccounts(options as Parameters<typeof createAccounts>[0]), message);
    }
  });

  test('reports whether it can serve', async () => {
    const { accounts, close } = await fixture(0);
    assert.deepEqual(await accounts.ready(), { ready: true, checks: { accounts: 'ok' } });
    await close();
    const closed: Accounts = accounts;
    assert.deepEqual(await closed.ready(), { ready: false, checks: { accounts: 'Closed' } });
  });
});
