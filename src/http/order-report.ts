import { assertNotAborted, countRows, type ReadOptions } from '../concurrency/abort.ts';
import { nextStep } from '../concurrency/steps.ts';
import { OrderBookError } from '../errors.ts';
import type { OrderBook } from '../order-book.ts';
import type { StoredEvent } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import type { EventLog } from '../records/event-log.ts';
import { formatIsoDate, type Order } from '../records/order-json.ts';

/** Maximum number of trades in a report. */
const MAX_TRADES = 100;

/** Number of the newest log entries that are searched. */
const SEARCHED_ENTRIES = 20_000;

/** Log entries that are read in one step. */
const PAGE = 500;

/**
 * Collects the data of an order that explains why it is or is not settled.
 *
 * @throws OrderBookError `NotFound` if the book has no such order.
 */
export async function createOrderReport(book: OrderBook, uid: string, work: ReadOptions) {
  const order = await book.orders.get(uid);
  if (order === undefined) throw createNotFoundError(uid);
  const [selection, trades, competitionStatus, competitions, simulation, history] = await Promise.all([
    book.auctions.selection(),
    book.trades.list({ orderUid: uid, limit: MAX_TRADES }),
    book.orders.competitionStatus(uid),
    book.auctions.competitionsOfOrder(uid),
    simulateOpenOrder(book, order),
    readHistory(order.uid, book.log, work),
  ]);
  return {
    order,
    competitionStatus,
    auction: selection && {
      id: selection.id,
      block: selection.block,
      listed: selection.listed.has(order.uid),
      filterReason: selection.filtered.get(order.uid) ?? null,
    },
    trades,
    ...history,
    competitions: competitions.map(({ auctionId, solutions }) => ({ auctionId, solutions })),
    simulation,
  };
}

/** Creates the rejection of an unknown UID. */
export function createNotFoundError(uid: string): OrderBookError {
  return new OrderBookError('NotFound', 'there is no order with this UID', { uid });
}

/** Simulates an order that can be settled. `null` for other orders, and if no simulation is possible. */
async function simulateOpenOrder({ orders }: OrderBook, { uid, status }: Order) {
  const result = status === 'open' ? await orders.simulate(uid) : undefined;
  return result?.status === 'simulated' ? { blockNumber: result.block, error: result.error } : null;
}

/** Finds the entries of an order among the newest entries of the log. */
async function readHistory(uid: Hex, log: EventLog, work: ReadOptions) {
  const last = await log.last();
  const found: StoredEvent[] = [];
  let searchedEntries = 0;
  for (let at = Math.max(0, last - SEARCHED_ENTRIES); at < last; ) {
    const page = await log.after(at, PAGE);
    found.push(...page.filter((entry) => entry.uid === uid));
    searchedEntries += page.length;
    countRows(work, page.length);
    at = page.at(-1)?.id ?? last;
    await nextStep(work);
    assertNotAborted(work.signal);
  }
  return { events: found.map(toEntry), searchedEntries, isComplete: found[0]?.type === 'created' };
}

function toEntry({ type, at, cause }: StoredEvent) {
  const txHash = cause?.position.transactionHash;
  return { type, timestamp: formatIsoDate(at), ...(txHash === undefined ? {} : { txHash }) };
}
