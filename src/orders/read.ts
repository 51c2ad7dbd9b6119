import type { Clock } from '../ports/clock.ts';
import { seconds } from '../ports/clock.ts';
import type { OrderCursor, OrderQuery, Store, StoredOrder } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import type { RenderedOrder } from './wire.ts';
import { renderOrder } from './wire.ts';

/** An order whose row is there, but damaged. */
export interface UnreadableOrder {
  readonly uid: Hex;
  readonly description: string;
}

/** One of many orders that were asked for. */
export type RenderedResult =
  | { readonly order: RenderedOrder; readonly error?: undefined }
  | { readonly order?: undefined; readonly error: UnreadableOrder };

/** A page of a listing. */
export interface RenderedPage {
  readonly orders: readonly RenderedOrder[];
  /** Where the next page begins; absent when this was the last one. */
  readonly next?: OrderCursor;
}

export interface ReadContext {
  readonly store: Store;
  readonly clock: Clock;
  /** Told of rows that cannot be read. */
  readonly onFault: (fault: unknown) => void;
}

/** Reads one order. Rejects when its row is damaged. */
export async function readOrder(uid: Hex, { store, clock }: ReadContext): Promise<RenderedOrder | undefined> {
  const [order] = await store.orders.get([uid]);
  return order && renderOrder(order, seconds(clock));
}

/** Reads many orders: each once, unknown ones absent, a damaged one as an error of its own (decision 2.27). */
export async function readOrders(uids: readonly Hex[], context: ReadContext): Promise<RenderedResult[]> {
  const now = seconds(context.clock);
  return (await context.store.orders.get(uids)).map((order) => render(order, now, context));
}

/** Lists orders, newest first. A damaged row is told of and left out, so that it does not hide the others. */
export async function listOrders(
  query: Omit<OrderQuery, 'status'> & StatusFilter,
  context: ReadContext,
): Promise<RenderedPage> {
  const now = seconds(context.clock);
  const { status, ...filter } = query;
  // One more than asked for tells whether there is another page.
  const wanted = { ...filter, limit: query.limit + 1 };
  const rows = await context.store.orders.list(
    status === undefined ? wanted : { ...wanted, status: { is: status, now } },
  );
  const page = rows.slice(0, query.limit);
  const orders = page.flatMap((row) => render(row, now, context).order ?? []);
  const last = page.at(-1);
  if (last === undefined || rows.length === page.length) return { orders };
  return { orders, next: { creationDate: last.creationDate, uid: last.uid } };
}

interface StatusFilter {
  readonly status?: NonNullable<OrderQuery['status']>['is'];
}

function render(row: StoredOrder, now: number, { onFault }: ReadContext): RenderedResult {
  try {
    return { order: renderOrder(row, now) };
  } catch (fault) {
    onFault(fault);
    return { error: { uid: row.uid, description: 'the order is stored, but cannot be read' } };
  }
}
