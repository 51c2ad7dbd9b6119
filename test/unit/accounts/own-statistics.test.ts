import type { Hex, StoredEvent } from 'intentbook';
import { memoryAccountStore } from 'intentbook/memory';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { KnownBook } from '../../../src/account-tools/account-books.ts';
import type { TokenLookup } from '../../../src/account-tools/token-labels.ts';
import { createOwnStatistics } from '../../../src/affiliates/own-statistics.ts';
import type { StatisticsCall } from '../../../src/ports/affiliate-statistics.ts';
import { manualClock } from '../../support/clock.ts';

const NOW = 1_700_000_000_000;
const DAY = 86_400_000;
const address = (n: number): Hex => `0x${n.toString(16).padStart(40, '0')}`;
const [ALICE, BOB, PARTNER, OTHER_PARTNER, SELL, BUY] = [1, 2, 3, 4, 5, 6].map(address) as [
  Hex,
  Hex,
  Hex,
  Hex,
  Hex,
  Hex,
];
const word = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`;
const CODES: Readonly<Record<string, Hex>> = { PARTNER, OTHER: OTHER_PARTNER };
const TERMS = {
  rewardAmount: 10,
  triggerVolume: 100,
  timeCapDays: 90,
  volumeCap: 1_000_000,
  revenueSplitAffiliatePct: 75,
  revenueSplitTraderPct: 25,
  revenueSplitDaoPct: 0,
};
const CALL: StatisticsCall = { signal: new AbortController().signal };

interface Choice {
  readonly tokens?: TokenLookup;
  readonly paidOut?: string;
  readonly chainIds?: readonly number[];
}

/** Statistics over scripted logs. Each trade sells 100 atoms of two decimals for a value of 250 dollars. */
async function fixture({ tokens = () => undefined, paidOut = '0', chainIds = [5] }: Choice = {}) {
  const clock = manualClock(NOW);
  const store = memoryAccountStore();
  await store.open({ clock });
  const watchers = new Set<() => void>();
  const failures: unknown[] = [];
  const payments: unknown[] = [];
  const broken = new Set<number>();
  const books = chainIds.map((chainId) => {
    const entries: StoredEvent[] = [];
    const codes = new Map<Hex, string>();
    const book = {
      chainId,
      log: {
        async after(id: number, limit: number) {
          if (broken.has(chainId)) throw new Error('offline');
          return entries.filter((each) => each.id > id).slice(0, limit);
        },
        prunedThrough: async () => 0,
        watch(hint: () => void) {
          watchers.add(hint);
          return () => void watchers.delete(hint);
        },
      },
      orders: {
        getMany: async (uids: readonly Hex[]) =>
          uids.map((uid) => {
            const fullAppData = JSON.stringify({ metadata: { referrer: { code: codes.get(uid) } } });
            return { order: { uid, sellToken: SELL, buyToken: BUY, fullAppData } };
          }),
      },
    };
    const trade = (owner: Hex, code: string) => {
      const id = entries.length + 1;
      const uid: Hex = `0x${id.toString(16).padStart(112, '0')}`;
      codes.set(uid, code);
      const position = { blockNumber: id, blockHash: word(id), logIndex: 0, transactionHash: word(900 + id) };
      const amounts = { ordinal: 1, completes: true, sellAmount: '103', buyAmount: '4000', feeAmount: '3' };
      entries.push({ id, type: 'traded', uid, owner, at: clock.now(), cause: { position, trade: amounts } });
    };
    return { known: { feed: `log ${chainId}`, book } as unknown as KnownBook, trade }; // the members that are used
  });
  const statistics = createOwnStatistics({
    books: books.map(({ known }) => known),
    store: {
      notifications: store.notifications,
      affiliates: {
        ...store.affiliates,
        byCode: async (code) => {
          const walletAddress = CODES[code];
          return walletAddress && { walletAddress, code, createdAt: 0, digest: '0x', signedMessage: '0x' };
        },
        byWallet: async (walletAddress) => {
          const [code] = Object.entries(CODES).find(([, wallet]) => wallet === walletAddress) ?? [];
          return code === undefined
            ? undefined
            : { walletAddress, code, createdAt: 0, digest: '0x', signedMessage: '0x' };
        },
      },
    },
    getTerms: () => TERMS,
    payouts: {
      paidOut: async (...given) => {
        payments.push(given);
        return paidOut;
      },
    },
    tokens,
    value: async () => 250_000_000n,
    clock,
    onFailure: (failure) => void failures.push(failure),
  });
  onTestFinished(() => statistics.stop());
  return {
    ...statistics,
    clock,
    watchers,
    failures,
    payments,
    broken,
    trade: (owner: Hex, code: string, book = 0) => books[book]?.trade(owner, code),
    async read() {
      for (const wake of watchers) wake();
      await settle();
    },
    async begin() {
      statistics.start();
      await settle();
    },
  };
}

async function settle(): Promise<void> {
  for (let i = 0; i < 15; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe('own statistics of an affiliate', () => {
  test('are unknown for a wallet without a code', async () => {
    const { begin, affiliate } = await fixture();
    await begin();
    expect(await affiliate(ALICE, CALL)).toBeUndefined();
  });

  test('count a trader as active until the end of the rewards', async () => {
    const { begin, affiliate, trade, clock } = await fixture();
    trade(ALICE, 'PARTNER');
    clock.set(NOW + 1000);
    trade(BOB, 'PARTNER');
    await begin();
    const counts = async () => {
      const found = await affiliate(PARTNER, CALL);
      return [found?.['active_traders'], found?.['total_traders']];
    };
    clock.set(NOW + 90 * DAY - 1);
    expect(await counts()).toEqual([2, 2]);
    clock.set(NOW + 90 * DAY);
    expect(await counts()).toEqual([1, 2]);
    clock.set(NOW + 90 * DAY + 1000);
    expect(await counts()).toEqual([0, 2]);
  });

  test('have no next payout if more was paid than earned', async () => {
    const { begin, affiliate, trade, payments } = await fixture({ paidOut: '15.000001' });
    trade(ALICE, 'PARTNER');
    await begin();
    const rewards = { total_earned: 15, paid_out: 15.000001, next_payout: 0, left_to_next_reward: 50 };
    expect(await affiliate(PARTNER, CALL)).toMatchObject(rewards);
    expect(payments).toEqual([['affiliate', PARTNER, CALL]]);
  });

  test('are as old as the log that was read the longest time ago', async () => {
    const { begin, affiliate, clock, broken, read } = await fixture({ chainIds: [5, 6] });
    await begin();
    broken.add(5);
    clock.set(NOW + 60_000);
    await read();
    expect(await affiliate(PARTNER, CALL)).toMatchObject({ lastUpdatedAt: '2023-11-14T22:13:20.000Z' });
  });

  test('do not follow the logs after they are stopped', async () => {
    const { begin, stop, watchers } = await fixture({ chainIds: [5, 6] });
    await begin();
    expect(watchers.size).toBe(2);
    await stop();
    expect(watchers.size).toBe(0);
  });
});

describe('own statistics of a trader', () => {
  test('are unknown for a trader without trades, and for one without a binding', async () => {
    const { begin, trader, trade } = await fixture();
    trade(ALICE, 'UNKNOWN');
    await begin();
    expect(await trader(ALICE, CALL)).toBeUndefined();
    expect(await trader(BOB, CALL)).toBeUndefined();
  });

  test('have the payouts of the trader', async () => {
    const { begin, trader, trade, payments } = await fixture({ paidOut: '1.5' });
    trade(ALICE, 'PARTNER');
    await begin();
    const rewards = { total_earned: 5, paid_out: 1.5, next_payout: 3.5, left_to_next_rewards: 50 };
    expect(await trader(ALICE, CALL)).toMatchObject(rewards);
    expect(payments).toEqual([['trader', ALICE, CALL]]);
  });

  test('list no activity of an account without trades', async () => {
    const { begin, traderActivity } = await fixture();
    await begin();
    expect(await traderActivity(BOB, CALL)).toEqual({ rows: [], lastUpdatedAt: '2023-11-14T22:13:20.000Z' });
  });

  test('list the newest 50 trades, or all', async () => {
    const { begin, traderActivity, trade } = await fixture();
    for (let i = 0; i < 51; i++) trade(ALICE, 'PARTNER');
    await begin();
    const count = async (call: StatisticsCall & { readonly all?: boolean }): Promise<number[]> => {
      const rows = (await traderActivity(ALICE, call))?.['rows'] as readonly { readonly order_uid: Hex }[]; // its rows
      return rows.map(({ order_uid }) => Number(order_uid));
    };
    expect(await count(CALL)).toEqual(Array.from({ length: 50 }, (_, i) => 51 - i));
    expect(await count({ ...CALL, all: true })).toHaveLength(51);
  });

  test.each([
    ['unknown tokens', () => undefined, {}, null, null],
    ['tokens without a symbol', () => ({ decimals: 2 }), {}, '1', '40'],
    ['tokens without decimals', () => ({ symbol: 'T' }), { sell_token_symbol: 'T', buy_token_symbol: 'T' }, null, null],
  ] as [string, TokenLookup, object, string | null, string | null][])('list amounts of %s', async (...row) => {
    const [, tokens, symbols, sold, bought] = row;
    const { begin, traderActivity, trade } = await fixture({ tokens });
    trade(ALICE, 'PARTNER');
    await begin();
    const found = (await traderActivity(ALICE, CALL)) as { readonly rows: readonly Record<string, unknown>[] };
    const { sell_token_symbol, buy_token_symbol, executed_sell_amount, executed_buy_amount } = found.rows[0] ?? {};
    expect([executed_sell_amount, executed_buy_amount]).toEqual([sold, bought]);
    const present = Object.entries({ sell_token_symbol, buy_token_symbol }).filter(
      ([name]) => name in (found.rows[0] ?? {}),
    );
    expect(Object.fromEntries(present)).toEqual(symbols);
  });

  test('list the activity without symbols and amounts while the node fails, with one query of each token', async () => {
    let queries = 0;
    const tokens = async () => {
      queries++;
      throw new Error('unreachable');
    };
    const { begin, traderActivity, trade, failures } = await fixture({ tokens });
    for (let i = 0; i < 3; i++) trade(ALICE, 'PARTNER');
    await begin();
    const row = { executed_sell_amount: null, executed_buy_amount: null, usd_value: 250 };
    expect(await traderActivity(ALICE, CALL)).toMatchObject({ rows: [row, row, row] });
    expect(queries).toBe(2);
    expect(failures).toHaveLength(2);
  });

  test('list a trade with the code of another affiliate as neither bound nor eligible', async () => {
    const { begin, traderActivity, trade } = await fixture();
    trade(ALICE, 'PARTNER');
    trade(ALICE, 'OTHER');
    await begin();
    const code = { bound_referrer_code: 'PARTNER' };
    expect(await traderActivity(ALICE, CALL)).toMatchObject({
      rows: [
        {
          ...code,
          referrer_code: 'OTHER',
          eligibility_reason: 'other_code',
          is_bound_to_code: false,
          is_eligible: false,
        },
        {
          ...code,
          referrer_code: 'PARTNER',
          eligibility_reason: 'eligible',
          is_bound_to_code: true,
          is_eligible: true,
        },
      ],
    });
  });
});
