import { type AbortState, assertNotAborted, countRows, type ReadOptions } from '../concurrency/abort.ts';
import { setBounded } from '../concurrency/bounded-map.ts';
import { nextStep } from '../concurrency/steps.ts';
import type { TradeChainEvent, TradeCursor } from '../ports/chain-store.ts';
import { thenAlways } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { OrderKind } from '../protocol/order.ts';
import { selectAccountEntries } from '../records/account-entries.ts';
import { compareLogPositions } from '../records/chain-batch.ts';
import { isAfterGap } from '../records/event-log.ts';

export interface SignedTerms {
  readonly kind: OrderKind;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
}

/** Trades that are read in one step. */
const PAGE = 100;

/** Log entries that are read in one step. */
const LOG_PAGE = 500;

/** Maximum number of log entries to read before all trades are read again. */
const MAX_LOG_ENTRIES = 10_000;

/** Log entries that cost as much as one trade. */
const ENTRIES_PER_TRADE = 8;

/** Maximum number of accounts with a cached sum; the least recently used are dropped first. */
const MAX_ACCOUNTS = 10_000;

/** Prices are in wei for this number of atoms. */
const PRICED_ATOMS = 10n ** 18n;

export type SurplusReader = ReturnType<typeof createSurplusReader>;

/** The sum of the trades up to a position of the chain, valid at a position of the log. */
interface Sum {
  readonly total: bigint;
  /** The newest trade of the sum. */
  readonly newest: TradeCursor | undefined;
  /** Log entries up to here are part of the sum. */
  readonly through: number;
}

/** A computation that several callers share. It ends early when no caller is left. */
interface Computation {
  readonly result: Promise<bigint>;
  readonly callers: (AbortState | undefined)[];
}

/**
 * Creates the reader. It caches one sum per account with a position of the event log. A later read checks the entries
 * since then: it adds new trades, and computes the sum again after a reorganisation or another change of older trades.
 */
export function createSurplusReader({ chain, orders, events }: Pick<Store, 'chain' | 'orders' | 'events'>) {
  /** Replaced by `clear`, so that a computation in progress does not keep its sum. */
  let sums = new Map<Address, Sum>();
  const running = new Map<Address, Computation>();

  /** Adds the trades after `since`, or all trades. */
  async function add(account: Address, since: Sum | undefined, through: number, step: Step): Promise<Sum> {
    let total = since?.total ?? 0n;
    let newest: TradeCursor | undefined;
    let after: TradeCursor | undefined;
    for (;;) {
      const filter = { account };
      const page = await chain.trades(after === undefined ? { filter, limit: PAGE } : { filter, limit: PAGE, after });
      newest ??= page[0];
      const added = page.filter((trade) => since?.newest === undefined || compareLogPositions(trade, since.newest) > 0);
      total += await sumSurplus(added, orders);
      after = page.at(-1);
      await step(page.length);
      if (added.length < PAGE) break;
    }
    return { total, newest: newest && { blockNumber: newest.blockNumber, logIndex: newest.logIndex }, through };
  }

  /** Returns how a sum is brought up to date with the log. */
  async function getUpdate(
    account: Address,
    sum: Sum,
    last: number,
    step: Step,
  ): Promise<'none' | 'add' | 'recompute'> {
    if (last - sum.through > MAX_LOG_ENTRIES) return 'recompute';
    let update: 'none' | 'add' = 'none';
    for (let at = sum.through; at < last; ) {
      const page = await events.after(at, Math.min(LOG_PAGE, last - at));
      if (page.length === 0) break;
      if (isAfterGap(at, page)) return 'recompute';
      at = page.at(-1)?.id ?? last;
      for (const entry of await selectAccountEntries(page, account, orders.filterPlaced)) {
        if (entry.type === 'reverted' || entry.type === 'placed') return 'recompute';
        if (entry.type !== 'traded') continue;
        const position = entry.cause?.position;
        const isNew = sum.newest === undefined || (position && compareLogPositions(position, sum.newest) > 0);
        if (!isNew) return 'recompute';
        update = 'add';
      }
      await step(Math.ceil(page.length / ENTRIES_PER_TRADE));
    }
    return update;
  }

  async function compute(account: Address, step: Step): Promise<bigint> {
    const cache = sums;
    const known = cache.get(account);
    const last = await events.last();
    const update = known === undefined ? 'recompute' : await getUpdate(account, known, last, step);
    const sum =
      known !== undefined && update === 'none'
        ? { ...known, through: last }
        : await add(account, update === 'add' ? known : undefined, last, step);
    setBounded(cache, account, sum, MAX_ACCOUNTS);
    return sum.total;
  }

  return {
    /**
     * Returns the total surplus of an account's trades, in wei. Each trade is valued at the prices of that settlement.
     * See docs/internals/decisions.md#d4-2. Trades without prices, and trades of unknown orders, count 0.
     */
    async total(account: Address, options: ReadOptions = {}): Promise<bigint> {
      assertNotAborted(options.signal);
      const shared = running.get(account);
      if (shared !== undefined) {
        shared.callers.push(options.signal);
        return shared.result;
      }
      const callers = [options.signal];
      const step = async (rows: number) => {
        countRows(options, rows);
        await nextStep(options);
        if (callers.every((caller) => caller?.aborted)) assertNotAborted(options.signal);
      };
      const result = thenAlways(compute(account, step), () => running.delete(account));
      running.set(account, { result, callers });
      return result;
    },
    /** Drops all sums. Called when orders were deleted, for which the log has no entries. */
    clear(): void {
      sums = new Map();
    },
  };
}

/** Counts the rows of a step, waits for the next tick, and throws if the result is no longer needed. */
type Step = (rows: number) => Promise<void>;

async function sumSurplus(trades: readonly TradeChainEvent[], orders: Store['orders']): Promise<bigint> {
  const priced = trades.filter(({ prices }) => prices !== null);
  const terms = await readTerms([...new Set(priced.map(({ uid }) => uid))], orders);
  return priced.reduce((total, trade) => {
    const signed = terms.get(trade.uid);
    return signed === undefined ? total : total + computeSurplus(trade, signed);
  }, 0n);
}

async function readTerms(uids: readonly Hex[], orders: Store['orders']): Promise<ReadonlyMap<Hex, SignedTerms>> {
  const rows = uids.length === 0 ? [] : await orders.get(uids);
  return new Map(
    rows.flatMap(({ uid, body }): [Hex, SignedTerms][] => {
      try {
        // Rendered from these members.
        const { kind, sellAmount, buyAmount } = JSON.parse(body) as Record<keyof SignedTerms, string>;
        return [[uid, { kind: kind as OrderKind, sellAmount: BigInt(sellAmount), buyAmount: BigInt(buyAmount) }]];
      } catch {
        return []; // reads of the order report the unreadable row
      }
    }),
  );
}

/** Returns the surplus of one trade over its share of the limit, in wei, rounded down, at least 0. */
export function computeSurplus(trade: TradeChainEvent, { kind, sellAmount, buyAmount }: SignedTerms): bigint {
  const sold = BigInt(trade.sellAmount) - BigInt(trade.feeAmount);
  const bought = BigInt(trade.buyAmount);
  const price = kind === 'sell' ? trade.prices?.buyToken : trade.prices?.sellToken;
  // The surplus is `gain / divisor`: atoms of the buy token for a sell order, of the sell token for a buy order.
  const gain = bought * sellAmount - sold * buyAmount;
  const divisor = kind === 'sell' ? sellAmount : buyAmount;
  if (price == null || gain <= 0n || divisor === 0n) return 0n;
  return (gain * BigInt(price)) / (divisor * PRICED_ATOMS);
}
