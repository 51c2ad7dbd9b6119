import type { KnownBook } from '../account-tools/account-books.ts';
import type { AccountTools } from '../account-tools/account-tools.ts';
import { createWorker } from '../concurrency/lifecycle.ts';
import type { AffiliateStore } from '../ports/affiliate-store.ts';
import { readMonotonic, yieldToEventLoop } from '../ports/clock.ts';
import type { NotificationStore } from '../ports/notification-store.ts';
import type { StoredEvent } from '../ports/store.ts';
import { type Hex, UNKNOWN_HASH } from '../protocol/hex.ts';
import { isAfterGap } from '../records/event-log.ts';
import type { Order } from '../records/wire-order.ts';
import { REFERRAL_FEEDS } from '../store-kit/forgotten.ts';
import type { Ledger } from './ledger.ts';
import { parseReferrerCode, type ReferredTrade } from './referred-trade.ts';
import type { Valuation } from './valuation.ts';

/** Log entries that are read in one step. */
const BATCH_SIZE = 200;

/** Milliseconds until the log is read again without a signal, or after a failure. */
const INTERVAL = 1_000;

/** Age up to which a trade without a price waits for one, in milliseconds. Then it has no value. */
const PRICE_TIMEOUT = 600_000;

/** Milliseconds until a missing price is read again. */
const PRICE_RETRY = 30_000;

type FollowerContext = Pick<AccountTools, 'clock' | 'onFailure'> & {
  readonly book: KnownBook;
  readonly ledger: Ledger;
  /** Keeps the values of trades, so that a trade is valued once. */
  readonly store: Pick<NotificationStore, 'cursor' | 'append' | 'marks'>;
  readonly affiliates: Pick<AffiliateStore, 'byCode'>;
  readonly value: Valuation;
};

/**
 * Creates a follower. It reads the log of the book from its first entry. The value of a trade is stored when the first
 * process reads the trade. Later, all processes read the value from the store.
 */
export function createStatisticsFollower(context: FollowerContext) {
  const { book: known, ledger, clock, onFailure } = context;
  const { book } = known;
  const feed = `${REFERRAL_FEEDS}${known.feed}`;
  const resolve = createTradeResolver(context, feed);
  let cursor = 0;
  let updatedAt: number | undefined;
  /** Monotonic time at which a missing price is read again. */
  let retryAt = 0;
  /** Whether entries that the statistics need have been deleted. They are then not computed at all. */
  let isIncomplete = false;

  /** Processes a batch. @returns whether there is another one. */
  async function processBatch(isStopping: () => boolean): Promise<boolean> {
    const events = await book.log.after(cursor, BATCH_SIZE);
    if (isAfterGap(cursor, events) && (await book.log.prunedThrough()) > cursor) {
      isIncomplete = true;
      throw new Error(`affiliate statistics need the whole ${known.feed}, but its first entries were deleted`);
    }
    const traded = events.filter(({ type }) => type === 'traded');
    const trades = await resolve(traded, isStopping);
    for (const event of events) {
      const trade = trades.get(event.id);
      if (event.type === 'traded' && trade === undefined) {
        retryAt = readMonotonic(clock) + PRICE_RETRY;
        return false;
      }
      apply(event, trade);
      cursor = event.id;
    }
    return events.length === BATCH_SIZE;
  }

  function apply({ type, cause }: StoredEvent, trade: ReferredTrade | undefined): void {
    if (cause === undefined) return;
    const { blockNumber, logIndex, transactionHash } = cause.position;
    // The block hash of a trade that another book knows is unknown until the trade is indexed.
    const key = `${feed} ${blockNumber} ${logIndex} ${transactionHash}`;
    if (cause.reverted === 'traded') ledger.remove(key);
    if (type === 'traded' && trade !== undefined) {
      ledger.add({ key, chainId: book.chainId, blockNumber, logIndex, trade });
    }
  }

  const worker = createWorker({
    clock,
    interval: INTERVAL,
    watch: (wake) => book.log.watch(wake),
    onFailure,
    async run(isStopping) {
      if (isIncomplete) return undefined;
      const wait = retryAt - readMonotonic(clock);
      if (wait > 0) return wait;
      while (await processBatch(isStopping)) {
        if (isStopping()) return undefined;
        await yieldToEventLoop();
      }
      // A trade that waits for its price delays only later trades.
      const retryDelay = retryAt - readMonotonic(clock);
      if (retryDelay <= 0 || updatedAt === undefined) updatedAt = clock.now();
      return retryDelay > 0 ? retryDelay : undefined;
    },
  });

  return {
    /** Time at which the log was last read to its end, in milliseconds since 1970. `undefined` before. */
    get updatedAt(): number | undefined {
      return updatedAt;
    },
    start(): void {
      [cursor, retryAt, updatedAt, isIncomplete] = [0, 0, undefined, false];
      worker.start();
    },
    stop: worker.stop,
  };
}

/**
 * Creates the function that returns the stored values of trades, and stores missing ones, up to a trade that waits for
 * its price.
 */
function createTradeResolver(context: Omit<FollowerContext, 'ledger'>, feed: string) {
  const { store, clock } = context;
  const { book } = context.book;

  async function derive(
    events: readonly StoredEvent[],
    isStopping: () => boolean,
  ): Promise<Map<number, ReferredTrade>> {
    const results = await book.orders.getMany([...new Set(events.map(({ uid }) => uid))]);
    const orders = new Map<Hex, Order>(
      results.flatMap(({ order }) => (order === undefined ? [] : [[order.uid, order]])),
    );
    const derived = new Map<number, ReferredTrade>();
    for (const event of events) {
      // A price can take the time limit of each of its sources.
      if (isStopping()) break;
      const trade = await toReferredTrade(event, orders.get(event.uid));
      const isUnpriced = trade.referral?.affiliate != null && trade.referral.value === null;
      if (isUnpriced && clock.now() - event.at < PRICE_TIMEOUT) break;
      derived.set(event.id, trade);
    }
    return derived;
  }

  async function toReferredTrade(event: StoredEvent, order: Order | undefined): Promise<ReferredTrade> {
    const { at, cause, uid, owner } = event;
    const trader = order?.onchainUser ?? owner;
    const code = order === undefined ? undefined : parseReferrerCode(order.fullAppData);
    if (order === undefined || code === undefined || cause?.trade === undefined) return { trader, at };
    const affiliate = await context.affiliates.byCode(code);
    const isRegistered = affiliate !== undefined && affiliate.createdAt <= at;
    const { sellToken, buyToken } = order;
    const sellAmount = BigInt(cause.trade.sellAmount) - BigInt(cause.trade.feeAmount);
    const buyAmount = BigInt(cause.trade.buyAmount);
    const value = isRegistered
      ? await context.value({ chainId: book.chainId, sellToken, buyToken, sellAmount, buyAmount, at })
      : undefined;
    const referral = {
      code,
      affiliate: isRegistered ? affiliate.walletAddress : null,
      uid,
      txHash: cause.position.transactionHash,
      sellToken,
      buyToken,
      sellAmount: String(sellAmount),
      buyAmount: String(buyAmount),
      value: value === undefined ? null : String(value),
    };
    return { trader, at, referral };
  }

  return async function resolve(
    events: readonly StoredEvent[],
    isStopping: () => boolean,
  ): Promise<Map<number, ReferredTrade>> {
    if (events.length === 0) return new Map();
    for (;;) {
      // The cursor only counts the writes: the ids of a log that was made anew begin again.
      const after = await store.cursor(feed);
      const marks = await store.marks(feed, events.map(toMarkKey));
      const values = new Map(marks.map(({ key, value }) => [key, value]));
      const trades = new Map<number, ReferredTrade>();
      for (const event of events) {
        const value = values.get(toMarkKey(event));
        if (value != null) trades.set(event.id, JSON.parse(value) as ReferredTrade); // the JSON of a trade
      }
      const unknown = events.filter(({ id }) => !trades.has(id));
      const derived = await derive(unknown, isStopping);
      if (derived.size === 0) return trades;
      const written = unknown.flatMap((event) => {
        const trade = derived.get(event.id);
        return trade === undefined ? [] : [{ key: toMarkKey(event), value: JSON.stringify(trade) }];
      });
      const batch = { feed, after, through: (after ?? 0) + 1, changes: [], marks: written };
      // Another process may have stored these trades with other prices.
      if ((await store.append(batch)).status === 'appended') return new Map([...trades, ...derived]);
    }
  };
}

/** Identifies a trade by its position on the chain and its order. */
function toMarkKey({ uid, cause }: StoredEvent): string {
  if (cause === undefined) return uid;
  const { blockHash, blockNumber, logIndex, transactionHash } = cause.position;
  const block = blockHash === UNKNOWN_HASH ? `${blockNumber} ${transactionHash}` : blockHash;
  return `${block} ${logIndex} ${uid}`;
}
