import type { Hex, Order, Store, StoredOrder } from 'intentbook';
import { countOrders, readPages } from '../walk.ts';
import type { Column, Row, Table } from './columns.ts';
import { assertCursor, readLog } from './log.ts';

const COLUMNS: readonly Column[] = [
  { name: 'uid', type: 'text' },
  { name: 'created_at', type: 'time' },
  { name: 'state', type: 'text' },
  { name: 'kind', type: 'text' },
  { name: 'class', type: 'text' },
  { name: 'owner', type: 'text' },
  { name: 'receiver', type: 'text' },
  { name: 'sell_token', type: 'text' },
  { name: 'buy_token', type: 'text' },
  { name: 'sell_amount', type: 'amount' },
  { name: 'buy_amount', type: 'amount' },
  { name: 'fee_amount', type: 'amount' },
  { name: 'executed_sell_amount', type: 'amount' },
  { name: 'executed_buy_amount', type: 'amount' },
  { name: 'executed_fee', type: 'amount' },
  { name: 'executed_fee_token', type: 'text' },
  { name: 'valid_to', type: 'time' },
  { name: 'partially_fillable', type: 'boolean' },
  { name: 'signing_scheme', type: 'text' },
  { name: 'app_data', type: 'text' },
  { name: 'version', type: 'integer' },
];

/**
 * Creates the table of orders. Without `after` it has all orders, newest first. Otherwise it has the orders with a log
 * entry above this position, each once, in its current state.
 */
export async function exportOrders(store: Store, after: number | undefined): Promise<Table> {
  const cursor = await store.events.last();
  if (after === undefined) {
    return { columns: COLUMNS, batches: readAll(store), cursor, total: await countOrders(store) };
  }
  await assertCursor(store, store.events.after, after, cursor);
  return { columns: COLUMNS, batches: readChanged(store, after, cursor), cursor };
}

async function* readAll(store: Store): AsyncGenerator<readonly Row[]> {
  for await (const page of readPages(store)) yield page.map(toRow);
}

async function* readChanged(store: Store, after: number, through: number): AsyncGenerator<readonly Row[]> {
  const seen = new Set<Hex>();
  for await (const events of readLog(store, after, through)) {
    const changed = [...new Set(events.map(({ uid }) => uid))].filter((uid) => !seen.has(uid));
    for (const uid of changed) seen.add(uid);
    if (changed.length > 0) yield (await store.orders.get(changed)).map(toRow);
  }
}

/** Converts an order. Its state does not depend on the time: `valid_to` shows whether an open order is expired. */
function toRow(stored: StoredOrder): Row {
  const order = JSON.parse(stored.body) as Order; // the body of an order
  return [
    stored.uid,
    stored.creationDate,
    stored.state,
    order.kind,
    order.class,
    order.owner,
    order.receiver,
    order.sellToken,
    order.buyToken,
    order.sellAmount,
    order.buyAmount,
    order.feeAmount,
    stored.executedSellAmount,
    stored.executedBuyAmount,
    stored.executedFee,
    stored.executedFeeToken,
    stored.validTo * 1000,
    order.partiallyFillable,
    order.signingScheme,
    order.appData,
    stored.version,
  ];
}
