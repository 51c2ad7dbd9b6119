import type { ChainStore, OrderChainEvent, TradeChainEvent } from '../ports/chain-store.ts';
import type { UpstreamOrder, UpstreamTrade } from '../ports/upstream.ts';
import type { Hex } from '../protocol/hex.ts';
import { isEcdsa } from '../protocol/signature.ts';
import { toChainEvents, toFacts, toPlacement, type UpstreamDifference } from '../records/reconcile.ts';
import type { Insert, UpstreamBook } from './context.ts';
import { isFinalOrder } from './final.ts';
import { put } from './tasks.ts';
import { describeDomain, hasEnded, toInsert } from './wire.ts';

/** Key of the task that has the time at which this book began to read the chain. */
const CHAIN = 'chain';

/** Trades of one page, the maximum of the interface. */
const TRADES = 1000;

/** Parts in which a page that fails is read. */
const PARTS = 32;

/** Trades of an order that cannot be read alone. After them, the other book fails, and not the trade. */
const MAX_UNREAD = 3;

/** When this book began to read the chain, in milliseconds since 1970, and the last block of the history before it. */
interface Beginning {
  readonly at: number;
  readonly block: number;
}

/** Stores what the other book has. */
export type UpstreamAdoption = ReturnType<typeof createAdoption>;

/**
 * Creates the operations that store orders and trades of the other book. While this book reads the chain, its own
 * trades and placements have precedence.
 */
export function createAdoption(book: UpstreamBook, insert: Insert, isChainFollowed: () => boolean) {
  const { store, tasks, clock } = book;
  let beginning: Beginning | undefined;
  let isLookedUp = false;

  /** Returns when and where this book began to read the chain; `undefined` if it has not. */
  async function findBeginning(): Promise<Beginning | undefined> {
    if (beginning !== undefined || (isLookedUp && !isChainFollowed())) return beginning;
    isLookedUp = true;
    const { indexedBlock } = await store.chain.progress();
    if (isChainFollowed() && indexedBlock !== null)
      await tasks.write([put('beginning', CHAIN, clock.now(), { block: indexedBlock.number }, 0)]); // unless it exists
    const [known] = await tasks.get('beginning', [CHAIN]);
    beginning = known && { at: known.due, block: known.value.block };
    return beginning;
  }

  /** Returns whether an order is stored by its placement alone: this book reads the contract that places it. */
  const isChainsOwn = (order: UpstreamOrder, since = Number.POSITIVE_INFINITY) =>
    order.onchainUser !== undefined &&
    order.creationDate >= since &&
    book.indexer?.onchainOrderContracts.includes(order.owner) === true;

  async function adoptTrades(trades: Parameters<typeof toChainEvents>[0]): Promise<number> {
    const began = await findBeginning();
    // While the chain is followed, it shows newer trades, and reverts them.
    const isOwn = (block: number) => isChainFollowed() && began !== undefined && block > began.block;
    const adopted = trades.filter(({ blockNumber }) => !isOwn(blockNumber));
    return adopt(book, toChainEvents(adopted, new Map()));
  }

  /**
   * Stores orders that this book does not have, with what the other book knows of them. Their entries in the log have
   * the time of their creation: they are history.
   */
  async function storeOrders(orders: readonly UpstreamOrder[]): Promise<void> {
    const since = (await findBeginning())?.at;
    const records = orders.flatMap((order) => {
      // The other book keeps an order whose placement was reorganised away.
      if (isChainsOwn(order, since)) {
        reportDifference(
          book,
          { uid: order.uid, field: 'missing', local: 'not placed on chain', upstream: order.status ?? 'unknown' },
          'chain',
        );
        return [];
      }
      const record = toInsert(order, book);
      if (record === undefined)
        reportDifference(book, {
          uid: order.uid,
          field: 'row',
          local: 'not stored',
          upstream: describeDomain(order, book),
        });
      return record === undefined ? [] : [{ order, record }];
    });
    const oldest = Math.min(...records.map(({ order }) => order.creationDate));
    const facts: OrderChainEvent[] = [];
    const live: UpstreamOrder[] = [];
    const now = clock.now();
    for (const { order } of records) {
      const trades = order.executedSellAmount > 0n ? await listStoredTrades(book, order.uid) : [];
      facts.push(...toFacts(order, trades));
      const sold = trades.reduce((sum, { sellAmount }) => sum + BigInt(sellAmount), 0n);
      if (!isFinalOrder(order, now) || sold < order.executedSellAmount) live.push(order);
    }
    // Before the orders: after a crash, an order that is stored is not read as a new one again.
    await tasks.write(
      live.map(({ uid, signingScheme }) => put('order', uid, now, { ecdsa: isEcdsa(signingScheme) }, 0)),
    );
    await adopt(book, facts, oldest);
    if (records.length > 0) await insert(records.map(({ record }) => record));
    const placements = records.flatMap(({ order, record }) => toPlacement(order, record.order) ?? []);
    await adopt(book, placements, oldest);
    book.wake();
  }

  /**
   * Stores those of the orders that this book does not have, and returns their number. Orders that have ended before a
   * time have been imported, and this book may have deleted them since.
   */
  async function storeNew(orders: readonly UpstreamOrder[], since: number): Promise<number> {
    const known = new Set((await store.orders.get(orders.map(({ uid }) => uid))).map(({ uid }) => uid));
    const isNew = (order: UpstreamOrder) => !hasEnded(order) || order.creationDate >= since;
    const added = orders.filter((order) => !known.has(order.uid) && isNew(order));
    await storeOrders(added);
    return added.length;
  }

  return { findBeginning, isChainsOwn, adoptTrades, storeOrders, storeNew };
}

/**
 * Adopts the trades of an order. Returns false if the other book did not respond with the rest of them.
 *
 * @param through - The last block whose trades this book does not read from the chain. `undefined`: any.
 */
export async function adoptTradesOf(
  book: UpstreamBook,
  found: UpstreamOrder,
  through: number | undefined,
): Promise<boolean> {
  const { clock } = book;
  const { trades, isAll, hasEnd } = await readTrades(book, found.uid);
  const earlier = trades.filter(({ blockNumber }) => through === undefined || blockNumber <= through);
  const hasFee = isAll && earlier.length === trades.length;
  const events = toChainEvents(earlier, hasFee ? new Map([[found.uid, found.executedFee]]) : new Map());
  // A list may be older than the order, or lack the transaction of a trade.
  const sold = events.reduce((sum, { sellAmount }) => sum + BigInt(sellAmount), 0n);
  const isComplete = through === undefined && sold === found.executedSellAmount;
  if (isComplete) await adopt(book, [...events, ...toFacts(found, [])], clock.now(), [found.uid]);
  else await adopt(book, events);
  return hasEnd;
}

/** Reads the trades of an order. If the other book responds with an error, in parts: one does not block others. */
async function readTrades(book: UpstreamBook, uid: Hex) {
  const trades: UpstreamTrade[] = [];
  const unread: number[] = [];
  for (let offset = 0, limit = TRADES; ; ) {
    const read = await book.upstream.listTrades({ uid }, { offset, limit });
    if (read.status === 'read') {
      trades.push(...read.value);
      if (read.value.length < limit) break;
      offset += limit;
      limit = Math.min(TRADES, limit * PARTS);
    } else if (read.status === 'blocked' || read.httpStatus === undefined || unread.length === MAX_UNREAD) {
      return { trades, isAll: false, hasEnd: false };
    } else if (limit > 1) {
      limit = Math.ceil(limit / PARTS);
    } else {
      unread.push(offset++);
    }
  }
  for (const n of unread) reportDifference(book, { uid, field: 'row', local: `trade ${n}`, upstream: 'not readable' });
  return { trades, isAll: unread.length === 0, hasEnd: true };
}

/** Returns the trades of an order that this book has. */
export async function listStoredTrades({ store }: UpstreamBook, uid: Hex): Promise<TradeChainEvent[]> {
  const trades: TradeChainEvent[] = [];
  for (let page = TRADES; page === TRADES; ) {
    const read = await store.chain.trades({ filter: { uid }, offset: trades.length, limit: TRADES });
    trades.push(...read);
    page = read.length;
  }
  return trades;
}

/**
 * Adopts chain events, and returns the number of changed orders.
 *
 * @param at - The time of the log entries, in milliseconds since 1970. Default: now.
 * @param complete - The orders of which these are all events: other ones are reverted.
 */
export async function adopt(
  { store, clock, cache, wake }: UpstreamBook,
  events: Parameters<ChainStore['adopt']>[0],
  at = clock.now(),
  complete: readonly Hex[] = [],
): Promise<number> {
  if (events.length + complete.length === 0) return 0;
  const adopted = await store.chain.adopt(events, at, complete);
  // The fee of a trade is adopted without a log entry.
  if (adopted > 0) cache?.forget([...events.map(({ uid }) => uid), ...complete]);
  if (adopted > 0) wake();
  return adopted;
}

export function reportDifference(
  { differs }: UpstreamBook,
  difference: Omit<UpstreamDifference, 'resolution'>,
  resolution: UpstreamDifference['resolution'] = 'none',
): void {
  differs.notify({ ...difference, resolution });
}
