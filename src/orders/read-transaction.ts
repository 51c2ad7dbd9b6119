import type { ReadOptions } from '../concurrency/abort.ts';
import type { TradeChainEvent } from '../ports/chain-store.ts';
import { seconds } from '../ports/clock.ts';
import type { StoredOrder } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import { type RenderedOrder, renderPrepared } from '../records/order-json.ts';
import { requireTransactionHash } from '../validation/options.ts';
import { endStep, ORDERS_PER_STEP } from './list-orders.ts';
import { prepareStoredOrder, type ReadContext } from './read.ts';

/**
 * Reads the orders that a transaction has traded, in the order of its trades. A damaged row is reported and left out.
 *
 * @throws OrderBookError `InvalidParameter` if the hash is not valid.
 */
export async function readTransaction(
  hash: string,
  context: ReadContext,
  options: ReadOptions = {},
): Promise<RenderedOrder[]> {
  const { store, clock } = context;
  const transactionHash = requireTransactionHash(hash);
  const trades: TradeChainEvent[] = [];
  for (let page: TradeChainEvent[] | undefined; page === undefined || page.length === ORDERS_PER_STEP; ) {
    const query = { filter: { transactionHash }, limit: ORDERS_PER_STEP };
    const after = page?.at(-1);
    page = await store.chain.trades(after === undefined ? query : { ...query, after });
    trades.push(...page);
    await endStep(options, page.length);
  }
  const uids = [...new Set(trades.reverse().map(({ uid }) => uid))];
  const rows = new Map<Hex, StoredOrder>();
  for (let i = 0; i < uids.length; i += ORDERS_PER_STEP) {
    const read = await store.orders.get(uids.slice(i, i + ORDERS_PER_STEP));
    for (const row of read) rows.set(row.uid, { ...row, quote: null });
    await endStep(options, read.length);
  }
  const now = seconds(clock);
  return uids.flatMap((uid) => {
    const row = rows.get(uid);
    const order = row && prepareStoredOrder(row, context);
    return order === undefined ? [] : [renderPrepared(order, now)];
  });
}
