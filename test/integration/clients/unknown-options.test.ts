import { createOrderBook } from 'intentbook';
import { createAccounts } from 'intentbook/accounts';
import { createClient } from 'intentbook/client';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { manualClock } from '../../support/clock.ts';
import { SEPOLIA, WETH } from '../../support/orders.ts';
import { directUpstream } from '../../support/upstream/direct-upstream.ts';

const OWNER = `0x${'a1'.repeat(20)}`;
const UID = `0x${'11'.repeat(56)}`;
const clock = manualClock();
const other = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), clock });
const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), clock, upstream: directUpstream(other, clock) });
const accounts = createAccounts({ books: [book], store: memoryAccountStore(), clock });
beforeAll(async () => {
  await other.start();
  await book.start();
  await accounts.start();
});
afterAll(async () => {
  await accounts.close();
  await book.close();
  await other.close();
});

/** Calls of JavaScript callers, whose misspelled member would be ignored. */
const CALLS: readonly (readonly [string, (given: never) => unknown, object, string])[] = [
  ['upstream.follow', (scope) => book.upstream?.follow(scope), { owner: [OWNER] }, 'owners'],
  ['upstream.unfollow', (scope) => book.upstream?.unfollow(scope), { uid: [UID] }, 'uids'],
  ['orders.list', (filter) => book.orders.list(filter), { ownr: OWNER }, 'owner'],
  ['orders.stream', (filter) => book.orders.stream(filter), { ownr: OWNER }, 'owner'],
  ['orders.stream', (options) => book.orders.stream({}, options), { aftr: 1 }, 'after'],
  ['orders.submit', (options) => book.orders.submit({} as never, options), { transation: {} }, 'transaction'],
  ['orders.simulate', (options) => book.orders.simulate({} as never, options), { blok: 1 }, 'block'],
  ['quotes.request', (options) => book.quotes.request({} as never, options), { sgnal: 1 }, 'signal'],
  ['quotes.stream', (options) => book.quotes.stream({} as never, options), { sgnal: 1 }, 'signal'],
  ['quotes.nativePrice', (options) => book.quotes.nativePrice(WETH, options), { sgnal: 1 }, 'signal'],
  ['auctions.stream', (options) => book.auctions.stream(options), { aftr: 1 }, 'after'],
  ['auctions.competition', (query) => book.auctions.competition(1, query), { publishd: true }, 'published'],
  ['auctions.latestCompetition', (query) => book.auctions.latestCompetition(query), { publishd: true }, 'published'],
  [
    'auctions.competitionOfTransaction',
    (query) => book.auctions.competitionOfTransaction(`0x${'11'.repeat(32)}`, query),
    { publishd: true },
    'published',
  ],
  ['balances.token', (options) => book.balances.token(WETH, options), { sgnal: 1 }, 'signal'],
  ['trades.list', (filter) => book.trades.list(filter), { ownr: OWNER }, 'owner'],
  ['appData.put', (options) => book.appData.put('{}', options), { hsh: '' }, 'hash'],
  ['notifications.list', (query) => accounts.notifications.list(OWNER, query), { cursr: '' }, 'cursor'],
  ['history.orders', (query) => accounts.history.orders(OWNER, query), { cursr: '' }, 'cursor'],
  ['history.trades', (query) => accounts.history.trades(OWNER, query), { limt: 1 }, 'limit'],
  ['deliveries.list', (query) => accounts.deliveries.list(query), { stat: 'dead' }, 'state'],
  ['chain.rollback', (options) => book.chain.rollback(1, options), { aftr: null }, 'after'],
];

describe('an unknown member', () => {
  it.each(CALLS)('of %s is refused with the similar name: %#', async (_, call, given, name) => {
    await expect((async () => call(given as never))()).rejects.toThrow(`did you mean "${name}"?`);
  });

  const client = createClient('http://book.example', { fetch: () => Promise.reject(new Error('not called')) });
  it.each([
    ['filter', () => client.mirror({ ownr: OWNER } as never), 'mirror: unknown filter "ownr", use owner, '],
    ['option', () => client.mirror({}, { sgnal: 1 } as never), 'mirror: unknown option "sgnal", use signal'],
    [
      'filter of notifications',
      () => client.account(OWNER).notifications.list({ cursr: '' } as never),
      'notifications: unknown filter "cursr", use limit, cursor',
    ],
    [
      'filter of a history',
      () => client.account(OWNER).history.orders({ cursr: '' } as never),
      'orders: unknown filter "cursr", use limit, cursor',
    ],
    [
      'option of an account',
      () =>
        client
          .account(OWNER)
          .notifications.stream({ aftr: 1 } as never)
          [Symbol.asyncIterator]()
          .next(),
      'notifications.stream: unknown option "aftr", use after, signal',
    ],
    ['missing order', () => client.submit(undefined as never), 'order must be an object, got undefined'],
    ['UID instead of a cancellation', () => client.cancel('0x12' as never), 'cancellation must be an object, got 0x12'],
    ['missing request', () => client.quote(undefined as never), 'terms must be an object, got undefined'],
  ])('of a client is refused: %s', async (_, call, message) => {
    await expect(call()).rejects.toThrow(message);
  });
});
