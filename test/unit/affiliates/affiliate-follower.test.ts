import { type Hex, type NewNotification, type Order, type StoredEvent, UNKNOWN_HASH } from 'intentbook';
import { memoryAccountStore } from 'intentbook/memory';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { KnownBook } from '../../../src/account-tools/account-books.ts';
import { createStatisticsFollower } from '../../../src/affiliates/follower.ts';
import type { LedgerEntry } from '../../../src/affiliates/ledger.ts';
import type { ValuedTrade } from '../../../src/affiliates/valuation.ts';
import type { ChainCause } from '../../../src/ports/order-events.ts';
import { manualClock } from '../../support/clock.ts';

const NOW = 1_700_000_000_000;
const OWNER: Hex = `0x${'ab'.repeat(20)}`;
const TRADER: Hex = `0x${'7a'.repeat(20)}`;
const PARTNER: Hex = `0x${'cc'.repeat(20)}`;
const [SELL, BUY] = [`0x${'e7'.repeat(20)}`, `0x${'c0'.repeat(20)}`] as const;
const uid = (n: number): Hex => `0x${n.toString(16).padStart(112, '0')}`;
const hash = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`;
const FEED = 'affiliates log';

const orderOf = (n: number, code: string | undefined, onchainUser?: Hex) =>
  ({
    uid: uid(n),
    owner: OWNER,
    sellToken: SELL,
    buyToken: BUY,
    fullAppData: code === undefined ? null : JSON.stringify({ metadata: { referrer: { code } } }),
    ...(onchainUser && { onchainUser }),
  }) as unknown as Order; // the members that are used

/** Orders 1 and 2 have a referrer, order 3 has an unregistered one, order 4 has none. Order 5 does not exist. */
const ORDERS = [orderOf(1, 'partner'), orderOf(2, 'PARTNER', TRADER), orderOf(3, 'UNKNOWN'), orderOf(4, undefined)];

interface Entry {
  readonly order?: number;
  readonly at?: number;
  readonly reverted?: ChainCause['reverted'];
  readonly type?: StoredEvent['type'];
  /** Whether the trade is known from another book only, which does not name the block. */
  readonly isAdopted?: boolean;
}

interface Choice {
  readonly price?: (trade: ValuedTrade) => bigint | undefined | Promise<bigint | undefined>;
  /** A store that is open. Default: an empty one. */
  readonly store?: ReturnType<typeof memoryAccountStore>;
  readonly registeredAt?: number;
}

async function fixture({ price = () => 5n, store: opened, registeredAt = 0 }: Choice = {}) {
  const clock = manualClock(NOW);
  const store = opened ?? memoryAccountStore();
  if (opened === undefined) await store.open({ clock });
  const entries: StoredEvent[] = [];
  const reads: number[] = [];
  const hints = new Set<() => void>();
  const ledger: (LedgerEntry | string)[] = [];
  const valued: ValuedTrade[] = [];
  const failures: unknown[] = [];
  const book = {
    feed: 'log',
    book: {
      chainId: 5,
      log: {
        async after(id: number, limit: number) {
          reads.push(id);
          return entries.filter((each) => each.id > id).slice(0, limit);
        },
        prunedThrough: async () => (entries[0]?.id ?? 1) - 1,
        watch(hint: () => void) {
          hints.add(hint);
          return () => void hints.delete(hint);
        },
      },
      orders: {
        getMany: async (uids: readonly Hex[]) =>
          uids.map((each) => ({ order: ORDERS.find((order) => order.uid === each) })),
      },
    },
  } as unknown as KnownBook; // the members that are used
  const follower = createStatisticsFollower({
    book,
    ledger: {
      add: (entry) => void ledger.push(entry),
      remove: (key) => void ledger.push(`remove ${key}`),
      clear: () => {},
      trader: () => undefined,
      boundTo: () => [],
    },
    store: store.notifications,
    affiliates: {
      byCode: async (code) =>
        code === 'PARTNER'
          ? { walletAddress: PARTNER, code, createdAt: registeredAt, digest: '0x', signedMessage: '0x' }
          : undefined,
    },
    value: async (trade) => {
      valued.push(trade);
      return price(trade);
    },
    clock,
    onFailure: (failure) => void failures.push(failure),
  });
  onTestFinished(() => follower.stop());
  return {
    store,
    clock,
    entries,
    reads,
    hints,
    ledger,
    valued,
    failures,
    follower,
    write(...more: readonly Entry[]) {
      for (const { order = 1, at = NOW, type = 'traded', reverted, isAdopted } of more) {
        const id = entries.length + 1;
        const block = reverted === undefined ? id : 1;
        const blockHash = isAdopted === true ? UNKNOWN_HASH : hash(block);
        const position = { blockNumber: block, blockHash, logIndex: 0, transactionHash: hash(900 + block) };
        const trade = { ordinal: 1, completes: true, sellAmount: '100', buyAmount: '40', feeAmount: '3' };
        const cause = { position, trade };
        const entry = { id, type, uid: uid(order), owner: OWNER, at };
        entries.push({ ...entry, cause: reverted === undefined ? cause : { ...cause, reverted } });
      }
      for (const hint of hints) hint();
    },
    async run() {
      follower.start();
      await settle();
    },
  };
}

async function settle(): Promise<void> {
  for (let i = 0; i < 15; i++) await new Promise((resolve) => setImmediate(resolve));
}

const tradesOf = (ledger: readonly (LedgerEntry | string)[]) =>
  ledger.map((entry) => (typeof entry === 'string' ? entry : [entry.blockNumber, entry.trade.referral?.value]));

describe('affiliate statistics follower', () => {
  test('computes nothing if the first entries of the log were deleted', async () => {
    const { write, run, entries, ledger, follower, failures, hints } = await fixture();
    write({ order: 2 }, { order: 2 }, { order: 2 });
    entries.shift();
    await run();
    for (const hint of hints) hint();
    await settle();
    expect(ledger).toEqual([]);
    expect(follower.updatedAt).toBeUndefined();
    expect(failures.map(String)).toEqual([
      'Error: affiliate statistics need the whole log, but its first entries were deleted',
    ]);
  });

  test('adds trades with their referrer, its wallet and their value without the signed fee', async () => {
    const { write, run, ledger, valued, follower } = await fixture();
    write({ order: 2 });
    await run();
    const referral = {
      code: 'PARTNER',
      affiliate: PARTNER,
      uid: uid(2),
      txHash: hash(901),
      sellToken: SELL,
      buyToken: BUY,
      sellAmount: '97',
      buyAmount: '40',
      value: '5',
    };
    const key = `${FEED} 1 0 ${hash(901)}`;
    expect(ledger).toEqual([
      { key, chainId: 5, blockNumber: 1, logIndex: 0, trade: { trader: TRADER, at: NOW, referral } },
    ]);
    expect(valued).toEqual([{ chainId: 5, sellToken: SELL, buyToken: BUY, sellAmount: 97n, buyAmount: 40n, at: NOW }]);
    expect(follower.updatedAt).toBe(NOW);
  });

  test('adds trades without a referrer by their time only, and values none of an unregistered code', async () => {
    const { write, run, ledger, valued } = await fixture();
    write({ order: 4 }, { order: 5 }, { order: 3 });
    await run();
    expect(ledger).toMatchObject([
      { trade: { trader: OWNER, at: NOW } },
      { trade: { trader: OWNER, at: NOW } },
      { trade: { referral: { code: 'UNKNOWN', affiliate: null, value: null } } },
    ]);
    const [first, second] = ledger as LedgerEntry[]; // all are entries
    expect([first?.trade.referral, second?.trade.referral, valued]).toEqual([undefined, undefined, []]);
  });

  test.each([
    [NOW, PARTNER],
    [NOW + 1, null],
  ])('of a code that was registered at %d has the affiliate %s', async (registeredAt, affiliate) => {
    const { write, run, ledger } = await fixture({ registeredAt });
    write({});
    await run();
    expect(ledger).toMatchObject([{ trade: { referral: { affiliate } } }]);
  });

  test('removes reverted trades, and ignores other entries', async () => {
    const { write, run, ledger } = await fixture();
    write(
      {},
      { type: 'created' },
      { type: 'reverted', reverted: 'cancelled' },
      { type: 'reverted', reverted: 'traded' },
    );
    await run();
    expect(tradesOf(ledger)).toEqual([[1, '5'], `remove ${FEED} 1 0 ${hash(901)}`]);
  });

  test('distinguishes trades of another book, and removes one that the chain has confirmed and then reverted', async () => {
    const prices = [5n, 6n];
    const { write, run, ledger, follower } = await fixture({ price: () => prices.shift() });
    write({ isAdopted: true }, { isAdopted: true });
    await run();
    await follower.stop();
    ledger.length = 0;
    write({ type: 'reverted', reverted: 'traded' });
    await run();
    expect(tradesOf(ledger)).toEqual([[1, '5'], [2, '6'], `remove ${FEED} 1 0 ${hash(901)}`]);
    expect(ledger).toMatchObject([
      { key: `${FEED} 1 0 ${hash(901)}` },
      { key: `${FEED} 2 0 ${hash(902)}` },
      expect.anything(),
    ]);
  });

  test('values each trade once, also after a restart and in another process', async () => {
    const first = await fixture();
    first.write({}, { order: 2 });
    await first.run();
    await first.follower.stop();
    await first.run();
    expect(tradesOf(first.ledger)).toEqual([
      [1, '5'],
      [2, '5'],
      [1, '5'],
      [2, '5'],
    ]);
    expect(first.valued).toHaveLength(2);
    const second = await fixture({ store: first.store, price: () => 9n });
    second.write({}, { order: 2 }, { order: 1 });
    await second.run();
    expect(tradesOf(second.ledger)).toEqual([
      [1, '5'],
      [2, '5'],
      [3, '9'],
    ]);
    expect(second.valued).toHaveLength(1);
  });

  test('values the trades of a log that was made anew, although its ids begin again', async () => {
    const first = await fixture();
    first.write({ order: 1 }, { order: 1 });
    await first.run();
    const second = await fixture({ store: first.store, price: () => 9n });
    second.write({ order: 2 });
    await second.run();
    expect(second.ledger).toMatchObject([{ trade: { trader: TRADER, referral: { uid: uid(2), value: '9' } } }]);
  });

  test('takes the values of a process that was faster', async () => {
    const { write, run, ledger, store, valued } = await fixture({
      price() {
        // Another process stores the trade during the valuation.
        void store.notifications.append({
          feed: FEED,
          after: null,
          through: 1,
          changes: [] as { type: 'notify'; notification: NewNotification }[],
          marks: [{ key: `${hash(1)} 0 ${uid(1)}`, value: JSON.stringify({ trader: TRADER, at: 1 }) }],
        });
        return 5n;
      },
    });
    write({});
    await run();
    expect(ledger).toMatchObject([{ trade: { trader: TRADER, at: 1 } }]);
    expect(valued).toHaveLength(1);
  });

  test('reads a long log in batches of 200 entries', async () => {
    const { write, run, reads, ledger } = await fixture();
    write(...Array.from({ length: 400 }, () => ({ order: 4 })));
    await run();
    expect(reads).toEqual([0, 200, 400]);
    expect(ledger).toHaveLength(400);
  });

  test('reads the log again after a signal and each second, until it stops', async () => {
    const { write, run, reads, ledger, clock, follower, hints } = await fixture();
    await run();
    write({ order: 4 });
    await settle();
    expect([reads, ledger.length]).toEqual([[0, 0], 1]);
    clock.advance(1000);
    await settle();
    expect([reads, follower.updatedAt]).toEqual([[0, 0, 1], NOW + 1000]);
    await follower.stop();
    expect([hints.size, clock.pending]).toEqual([0, 0]);
  });
});

test('affiliate statistics follower stops after the trade that it values, and continues there', async () => {
  let respond = (_: bigint) => {};
  const price = () =>
    new Promise<bigint>((resolve) => {
      respond = resolve;
    });
  const { write, run, follower, ledger, valued } = await fixture({ price });
  write({}, {}, {});
  await run();
  const stopped = follower.stop();
  respond(5n);
  await settle();
  expect(valued).toHaveLength(1);
  await stopped;
  expect(tradesOf(ledger)).toEqual([[1, '5']]);
  ledger.length = 0;
  await run();
  for (let i = 0; i < 2; i++) {
    respond(6n);
    await settle();
  }
  expect(tradesOf(ledger)).toEqual([
    [1, '5'],
    [2, '6'],
    [3, '6'],
  ]);
});

describe('affiliate statistics of a trade without a price', () => {
  test('wait for one, are read again each 30 seconds, and delay only later trades', async () => {
    let price: bigint | undefined;
    const { write, run, ledger, valued, clock, follower } = await fixture({
      price: ({ at }) => (at === NOW - 1 ? price : 5n),
    });
    write({}, { at: NOW - 1 }, {});
    await run();
    expect([tradesOf(ledger), follower.updatedAt]).toEqual([[[1, '5']], NOW]);
    const before = valued.length;
    clock.advance(29_999);
    await settle();
    expect(valued).toHaveLength(before);
    expect(follower.updatedAt).toBe(NOW);
    price = 7n;
    clock.advance(1);
    await settle();
    expect(tradesOf(ledger)).toEqual([
      [1, '5'],
      [2, '7'],
      [3, '5'],
    ]);
    expect(follower.updatedAt).toBe(NOW + 30_000);
  });

  test('wait 30 seconds, although the clock steps back meanwhile', async () => {
    let price: bigint | undefined;
    const { write, run, ledger, clock } = await fixture({ price: () => price });
    write({});
    await run();
    expect(ledger).toEqual([]);
    price = 7n;
    clock.jump(-7_200_000);
    clock.advance(30_000);
    await settle();
    expect(tradesOf(ledger)).toEqual([[1, '7']]);
  });

  test.each([
    [600_000, 1],
    [599_999, 0],
  ])('have none after ten minutes: at an age of %d ms', async (age, count) => {
    const { write, run, ledger } = await fixture({ price: () => undefined });
    write({ at: NOW - age });
    await run();
    expect(ledger).toHaveLength(count);
    if (count > 0) expect(ledger).toMatchObject([{ trade: { referral: { affiliate: PARTNER, value: null } } }]);
  });
});
