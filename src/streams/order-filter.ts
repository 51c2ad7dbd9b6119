import type { OrderStreamFilter } from '../records/order-stream-filter.ts';
import type { Order } from '../records/wire-order.ts';
import { ORDER_STATUSES } from '../records/wire-order.ts';
import { invalidParameter, requireAddress } from '../validation/options.ts';
import type { StreamItem } from './stream.ts';

/** Returns whether an order is sent to a subscriber. */
export type OrderMatcher = (order: Order) => boolean;

const KINDS = ['sell', 'buy'];

/**
 * Creates the matcher of the filters that the log has no keys for. `undefined`: every order matches.
 *
 * @throws OrderBookError `InvalidParameter` naming the filter.
 */
export function createOrderMatcher({ sellToken, buyToken, token, pair, kind, status }: OrderStreamFilter) {
  const tests: OrderMatcher[] = [];
  if (sellToken !== undefined) {
    const wanted = requireAddress('sellToken', sellToken);
    tests.push((order) => order.sellToken === wanted);
  }
  if (buyToken !== undefined) {
    const wanted = requireAddress('buyToken', buyToken);
    tests.push((order) => order.buyToken === wanted);
  }
  if (token !== undefined) {
    const wanted = requireAddress('token', token);
    tests.push((order) => order.sellToken === wanted || order.buyToken === wanted);
  }
  if (pair !== undefined) {
    if (!Array.isArray(pair) || pair.length !== 2) throw invalidParameter('pair', 'must be two addresses');
    const [a, b] = pair.map((each: string) => requireAddress('pair', each));
    tests.push(({ sellToken, buyToken }) => (sellToken === a && buyToken === b) || (sellToken === b && buyToken === a));
  }
  if (kind !== undefined) {
    if (!KINDS.includes(kind)) throw invalidParameter('kind', 'must be "sell" or "buy"');
    tests.push((order) => order.kind === kind);
  }
  if (status !== undefined) {
    if (!ORDER_STATUSES.includes(status))
      throw invalidParameter('status', `must be one of ${ORDER_STATUSES.join(', ')}`);
    tests.push((order) => order.status === status);
  }
  return tests.length === 0 ? undefined : (order: Order) => tests.every((test) => test(order));
}

/** Orders of items, parsed once for all filtered subscribers. */
const orders = new WeakMap<StreamItem, Order>();

/** Returns the filter of a stream's items. Withdrawn orders are kept. */
export function filterItems(matches: OrderMatcher): (item: StreamItem) => boolean {
  return (item) => {
    if (item.event !== 'order') return true;
    let order = orders.get(item);
    if (order === undefined) {
      order = JSON.parse(item.data) as Order; // rendered from an order
      orders.set(item, order);
    }
    return matches(order);
  };
}
