import { OrderBookError } from '../errors.ts';
import type { OrderBook } from '../order-book.ts';

/** Maximum number of trades in a report. */
const MAX_TRADES = 100;

/**
 * Collects the data of an order that explains why it is or is not settled.
 *
 * @throws OrderBookError `NotFound` if the book has no such order.
 */
export async function createOrderReport(book: OrderBook, uid: string): Promise<object> {
  const [order, selection, trades] = await Promise.all([
    book.orders.get(uid),
    book.auctions.selection(),
    book.trades.list({ orderUid: uid, limit: MAX_TRADES }),
  ]);
  if (order === undefined) throw new OrderBookError('NotFound', 'there is no order with this UID', { uid });
  return {
    order,
    competitionStatus: await book.orders.competitionStatus(uid),
    auction: selection && {
      id: selection.id,
      block: selection.block,
      listed: selection.listed.has(order.uid),
      filterReason: selection.filtered.get(order.uid) ?? null,
    },
    trades,
  };
}
