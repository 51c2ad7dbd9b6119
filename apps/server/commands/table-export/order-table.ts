import type { Hex, Order, Store, StoredOrder } from 'intentbook';
import { countOrders, readPages } from '../walk.ts';
import { defineColumns, type Row, type Table } from './columns.ts';
import { assertCursor, readLog } from './log.ts';

/** The columns of an order. Its state does not depend on the time: `valid_to` shows whether an open one is expired. */
const { columns, toRow } = defineColumns<[stored: StoredOrder, order: Order]>({
  uid: ['text', (stored) => stored.uid],
  created_at: ['time', (stored) => stored.creationDate],
  state: ['text', (stored) => stored.state],
  kind: ['text', (_, order) => order.kind],
  class: ['text', (_, order) => order.class],
  owner: ['text', (_, order) => order.owner],
  receiver: ['text', (_, order) => order.receiver],
  sell_token: ['text', (_, order) => order.sellToken],
  buy_token: ['text', (_, order) => order.buyToken],
  sell_amount: ['amount', (_, order) => order.sellAmount],
  buy_amount: ['amount', (_, order) => order.buyAmount],
  fee_amount: ['amount', (_, order) => order.feeAmount],
  executed_sell_amount: ['amount', (stored) => stored.executedSellAmount],
  executed_buy_amount: ['amount', (stored) => stored.executedBuyAmount],
  executed_fee: ['amount', (stored) => stored.executedFee],
  executed_fee_token: ['text', (stored) => stored.executedFeeToken],
  valid_to: ['time', (stored) => stored.validTo * 1000],
  partially_fillable: ['boolean', (_, order) => order.partiallyFillable],
  signing_scheme: ['text', (_, order) => order.signingScheme],
  app_data: ['text', (_, order) => order.appData],
  version: ['integer', (stored) => stored.version],
});

/**
 * Creates the table of orders. Without `after` it has all orders, newest first. Otherwise it has the orders with a log
 * entry above this position, each once, in its current state.
 */
export async function exportOrders(store: Store, after: number | undefined): Promise<Table> {
  const cursor = await store.events.last();
  if (after === undefined) {
    return { columns, batches: readAll(store), cursor, total: await countOrders(store) };
  }
  await assertCursor(store, store.events.after, after, cursor);
  return { columns, batches: readChanged(store, after, cursor), cursor };
}

async function* readAll(store: Store): AsyncGenerator<readonly Row[]> {
  for await (const page of readPages(store)) yield page.map(toOrderRow);
}

async function* readChanged(store: Store, after: number, through: number): AsyncGenerator<readonly Row[]> {
  const seen = new Set<Hex>();
  for await (const events of readLog(store.events.after, after, through)) {
    const changed = [...new Set(events.map(({ uid }) => uid))].filter((uid) => !seen.has(uid));
    for (const uid of changed) seen.add(uid);
    if (changed.length > 0) yield (await store.orders.get(changed)).map(toOrderRow);
  }
}

const toOrderRow = (stored: StoredOrder) => toRow(stored, JSON.parse(stored.body) as Order); // the body of an order
