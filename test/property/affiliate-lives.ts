import type { Address, Affiliate, Hex, StoredEvent } from 'intentbook';
import type { AffiliateTerms } from 'intentbook/accounts';
import { memoryAccountStore } from 'intentbook/memory';
import { createOwnStatistics } from '../../src/affiliates/own-statistics.ts';
import { createValuation } from '../../src/affiliates/valuation.ts';
import { manualClock } from '../support/clock.ts';
import { turns } from '../unit/accounts/accounts-fixture.ts';

/** A step in the life of the affiliate programme. Numbers select members of small sets. */
export type Step =
  | {
      readonly type: 'trade';
      readonly book: number;
      readonly trader: number;
      /** Absent: the order has no code. */
      readonly code: number | undefined;
      readonly token: number;
      /** Hundredths of a whole token. */
      readonly amount: number;
      /** Minutes between the block of the trade and its entry in the log. */
      readonly lag: number;
    }
  | { readonly type: 'register'; readonly code: number }
  | { readonly type: 'rollback'; readonly book: number; readonly trades: number }
  | { readonly type: 'price'; readonly token: number; readonly cents: number }
  | { readonly type: 'time'; readonly hours: number }
  | { readonly type: 'restart' };

const CHAINS = [1, 100];
const TOKENS = [
  { address: address(0xa1), decimals: 18 },
  { address: address(0xa2), decimals: 6 },
  { address: address(0xa3), decimals: 0 },
];
export const CODES = ['ALPHA', 'BRAVO-1', 'CHARLIE_2'];
export const TRADERS = 4;
const TERMS: AffiliateTerms = {
  rewardAmount: 10,
  triggerVolume: 1_000,
  timeCapDays: 2,
  volumeCap: 5_000.5,
  revenueSplitAffiliatePct: 60,
  revenueSplitTraderPct: 33.3,
  revenueSplitDaoPct: 6.7,
};
const TERMS_OF_BRAVO: AffiliateTerms = { ...TERMS, triggerVolume: 333.333333, timeCapDays: 1, volumeCap: 900 };
const getTerms = (code: string) => (code === CODES[1] ? TERMS_OF_BRAVO : TERMS);

function address(n: number): Address {
  return `0x${n.toString(16).padStart(40, '0')}`;
}
function word(n: number, size = 32): Hex {
  return `0x${n.toString(16).padStart(2 * size, '0')}`;
}

/** The second trader owns the second code. */
const walletOf = (code: number) => (code === 1 ? traderAddress(1) : address(0xc0 + code));
const traderAddress = (n: number) => address(0xd0 + n);

/** A trade, as the model knows it. */
interface ModelTrade {
  readonly book: number;
  readonly event: StoredEvent;
  readonly trader: number;
  readonly code: number | undefined;
  readonly at: number;
  readonly block: number;
  /** In millionths of a US dollar, at the time of the trade. */
  readonly value: bigint;
  /** Whether the code was registered at the time of the trade. */
  readonly isRegistered: boolean;
  isReverted: boolean;
}

/** A book with a log and orders, and no other part. */
function createLogBook(chainId: number) {
  const events: StoredEvent[] = [];
  const orders = new Map<Hex, object>();
  const hints = new Set<() => void>();
  let readThrough = 0;
  const book = {
    chainId,
    log: {
      last: async () => events.length,
      async after(id: number, limit: number) {
        const page = events.slice(id, id + limit);
        // The follower has processed everything before a position without later entries.
        if (page.length === 0) readThrough = id;
        return page;
      },
      watch(hint: () => void) {
        hints.add(hint);
        return () => hints.delete(hint);
      },
    },
    orders: {
      getMany: async (uids: readonly Hex[]) => uids.map((uid) => ({ order: orders.get(uid) })),
    },
  };
  return {
    events,
    orders,
    known: { book: book as never, env: 'production', feed: `log ${chainId}` },
    restart() {
      readThrough = -1;
    },
    async settled() {
      await turns(() => {
        for (const hint of [...hints]) hint();
        return readThrough === events.length;
      });
    },
  };
}

/** Plays a life and returns the statistics with those of a naive recomputation. */
export async function playAffiliateLife(steps: readonly Step[]) {
  const clock = manualClock();
  const store = memoryAccountStore();
  await store.open({ clock });
  const books = CHAINS.map(createLogBook);
  const prices = TOKENS.map(() => 100);
  const registered = new Map<number, number>();
  const trades: ModelTrade[] = [];
  const failures: unknown[] = [];
  const start = () => {
    const statistics = createOwnStatistics({
      books: books.map(({ known }) => known),
      store,
      getTerms,
      payouts: { paidOut: (role) => (role === 'trader' ? 1.5 : '2.25') },
      tokens: (_chain, token) => TOKENS.find((each) => each.address === token),
      value: createValuation({
        clock,
        tokens: (_chain, token) => TOKENS.find((each) => each.address === token),
        readPrice: async ({ token }) => (prices[TOKENS.findIndex((each) => each.address === token)] ?? 0) / 100,
        readHistory: async () => undefined,
        onFailure: (failure) => failures.push(failure),
      }),
      clock,
      onFailure: (failure) => failures.push(failure),
    });
    for (const book of books) book.restart();
    statistics.start();
    return statistics;
  };
  let statistics = start();

  async function play(step: Step): Promise<void> {
    switch (step.type) {
      case 'trade':
        return addTrade(step);
      case 'register': {
        if (registered.has(step.code)) return;
        registered.set(step.code, clock.now());
        const affiliate: Affiliate = {
          walletAddress: walletOf(step.code),
          code: CODES[step.code] ?? '',
          createdAt: clock.now(),
        };
        await store.affiliates.register({ ...affiliate, digest: word(step.code), signedMessage: word(step.code, 65) });
        return;
      }
      case 'rollback': {
        const live = trades.filter(({ book, isReverted }) => book === step.book && !isReverted);
        for (const trade of live.slice(-step.trades)) {
          trade.isReverted = true;
          const events: StoredEvent[] = books[step.book]?.events ?? [];
          const cause = { ...trade.event.cause, reverted: 'traded' } as NonNullable<StoredEvent['cause']>;
          events.push({ ...trade.event, id: events.length + 1, type: 'reverted', cause });
        }
        return;
      }
      case 'price':
        prices[step.token] = step.cents;
        return;
      case 'time':
        clock.advance(step.hours * 3_600_000);
        return;
      case 'restart':
        await statistics.stop();
        statistics = start();
    }
  }

  function addTrade({ book: index, trader, code, token, amount, lag }: Step & { type: 'trade' }): void {
    const book = books[index];
    const sold = TOKENS[token];
    if (book === undefined || sold === undefined) return;
    clock.advance(1000);
    const [at, block, uid] = [clock.now() - lag * 60_000, trades.length + 1, word(trades.length + 1, 56)];
    const atoms = (BigInt(amount) * 10n ** BigInt(sold.decimals)) / 100n;
    const name = code === undefined ? undefined : CODES[code];
    const metadata = name === undefined ? {} : { referrer: { code: name.toLowerCase() } };
    book.orders.set(uid, {
      uid,
      owner: traderAddress(trader),
      sellToken: sold.address,
      buyToken: address(0xee),
      fullAppData: JSON.stringify({ metadata }),
    });
    const position = { blockNumber: block, blockHash: word(block), logIndex: 0, transactionHash: word(block) };
    const trade = { ordinal: 1, completes: true, sellAmount: String(atoms), buyAmount: '1', feeAmount: '0' };
    const event: StoredEvent = {
      id: book.events.length + 1,
      type: 'traded',
      uid,
      owner: traderAddress(trader),
      at,
      cause: { position, trade },
    };
    book.events.push(event);
    const value = roundedQuotient(atoms * BigInt(prices[token] ?? 0) * 10_000n, 10n ** BigInt(sold.decimals));
    const isRegistered = code !== undefined && (registered.get(code) ?? Number.POSITIVE_INFINITY) <= at;
    trades.push({ book: index, event, trader, code, at, block, value, isRegistered, isReverted: false });
  }

  for (const step of steps) {
    await play(step);
    for (const book of books) await book.settled();
  }
  const signal = new AbortController().signal;
  const without = (response: object | undefined) => response && { ...response, lastUpdatedAt: '' };
  const found = {
    traders: await each(TRADERS, async (n) => without(await statistics.trader(traderAddress(n), { signal }))),
    affiliates: await each(CODES.length, async (n) => without(await statistics.affiliate(walletOf(n), { signal }))),
    activity: await each(TRADERS, async (n) => {
      const { rows } = (await statistics.traderActivity(traderAddress(n), { signal, all: true })) as {
        rows: { order_uid: Hex; eligibility_reason: string; eligible_volume_usd: number }[];
      };
      return rows.map(({ order_uid, eligibility_reason, eligible_volume_usd }) => {
        return [order_uid, eligibility_reason, eligible_volume_usd];
      });
    }),
    failures,
  };
  await statistics.stop();
  await store.close();
  return { found, expected: recompute(trades, registered, clock.now()) };
}

const each = <T>(count: number, read: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => read(n)));

/** Divides and rounds half up. */
function roundedQuotient(a: bigint, b: bigint): bigint {
  return a / b + ((a % b) * 2n >= b ? 1n : 0n);
}

const dollars = (micros: bigint) => Number(`${micros}e-6`);
const micros = (amount: number) => BigInt(Math.round(amount * 1e6));
const time = (ms: number) => new Date(ms).toISOString().replace('T', ' ').replace('Z', ' UTC');

/** Recomputes everything from the list of trades. */
function recompute(all: readonly ModelTrade[], registered: ReadonlyMap<number, number>, now: number) {
  const live = all
    .filter(({ isReverted }) => !isReverted)
    .sort((a, b) => a.at - b.at || a.book - b.book || a.block - b.block);
  const traders = Array.from({ length: TRADERS }, (_, n) => {
    const own = live.filter(({ trader }) => trader === n);
    const first = own[0];
    const code = first?.isRegistered && walletOf(first.code ?? 0) !== traderAddress(n) ? first.code : undefined;
    const terms = getTerms(CODES[code ?? 0] ?? '');
    const end = (first?.at ?? 0) + terms.timeCapDays * 86_400_000;
    let volume = 0n;
    const rows: [Hex, string, number][] = [];
    for (const trade of own) {
      if (trade.code === undefined) continue;
      const left = micros(terms.volumeCap) - volume;
      let reason = 'eligible';
      if (!trade.isRegistered) reason = 'unknown_code';
      else if (walletOf(trade.code) === traderAddress(n)) reason = 'own_code';
      else if (code === undefined) reason = 'ref_after_first_trade';
      else if (trade.code !== code) reason = 'other_code';
      else if (trade.at >= end) reason = 'time_cap_exceeded';
      else if (left === 0n) reason = 'volume_cap_exceeded';
      let counted = reason === 'eligible' ? trade.value : 0n;
      if (counted > left) counted = left;
      volume += counted;
      rows.unshift([trade.event.uid, reason, dollars(counted)]);
    }
    return { code, since: first?.at ?? 0, end, volume, rows };
  });
  const pay = (
    volume: bigint,
    code: number,
    part: 'revenueSplitAffiliatePct' | 'revenueSplitTraderPct',
    paid: number,
  ) => {
    const terms = getTerms(CODES[code] ?? '');
    const trigger = micros(terms.triggerVolume);
    const earned = ((volume / trigger) * BigInt(terms.rewardAmount) * 1_000_000n * micros(terms[part])) / 100_000_000n;
    const next = earned > micros(paid) ? earned - micros(paid) : 0n;
    return {
      payments: { total_earned: dollars(earned), paid_out: paid, next_payout: dollars(next) },
      left: dollars(trigger - (volume % trigger)),
      trigger: terms.triggerVolume,
    };
  };
  return {
    traders: traders.map(({ code, since, end, volume }, n) => {
      if (code === undefined) return undefined;
      const { payments, left, trigger } = pay(volume, code, 'revenueSplitTraderPct', 1.5);
      return {
        trader_address: traderAddress(n),
        bound_referrer_code: CODES[code],
        linked_since: time(since),
        rewards_end: time(end),
        eligible_volume: dollars(volume),
        left_to_next_rewards: left,
        trigger_volume: trigger,
        ...payments,
        lastUpdatedAt: '',
      };
    }),
    affiliates: CODES.map((name, code) => {
      if (!registered.has(code)) return undefined;
      const bound = traders.filter((trader) => trader.code === code);
      const volume = bound.reduce((sum, trader) => sum + trader.volume, 0n);
      const { payments, left, trigger } = pay(volume, code, 'revenueSplitAffiliatePct', 2.25);
      return {
        affiliate_address: walletOf(code),
        referrer_code: name,
        total_volume: dollars(volume),
        trigger_volume: trigger,
        ...payments,
        left_to_next_reward: left,
        active_traders: bound.filter(({ end }) => now < end).length,
        total_traders: bound.length,
        lastUpdatedAt: '',
      };
    }),
    activity: traders.map(({ rows }) => rows),
    failures: [],
  };
}
