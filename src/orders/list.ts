import type { ReadOptions } from '../concurrency/abort.ts';
import { assertNotAborted, countRows } from '../concurrency/abort.ts';
import { createConcurrencyLimit } from '../concurrency/limit.ts';
import { nextStep } from '../concurrency/steps.ts';
import { seconds } from '../ports/clock.ts';
import type { OrderCursor, OrderQuery, OrderScan, StoredOrder } from '../ports/store.ts';
import type { RenderedOrder } from './order-json.ts';
import { renderPrepared } from './order-json.ts';
import type { ReadContext } from './read.ts';
import { prepare } from './read.ts';

/** A page of a listing. */
export interface RenderedPage {
  readonly orders: readonly RenderedOrder[];
  /** The position where the next page begins; absent on the last page. */
  readonly next?: OrderCursor;
}

/** Orders that are read and rendered in one tick of the event loop: a page of 100 with the row that follows it. */
export const ORDERS_PER_STEP = 128;

/** The same for longer pages, which have several steps. */
const ORDERS_PER_LONG_STEP = 64;

/** Long pages that are read at the same time. More texts would delay each collection of young garbage. */
const longPages = /* @__PURE__ */ createConcurrencyLimit(2);

/** Orders that a listing skips in one step because of its offset. */
const SKIPPED_PER_STEP = 1000;

/** Index entries that a search examines in one step. */
const EXAMINED_PER_STEP = 4000;

/** Index entries that a search examines at most. The page is then shorter than its limit, and has a next page. */
const MAX_EXAMINED = 100_000;

/** Skipped or examined entries that cost as much as one order that is read. */
const SKIPPED_PER_ROW = 8;

/**
 * Lists orders, newest first, in steps with a tick of the event loop in between. A damaged row is reported and left
 * out, so that it does not hide the others. After a long search the page may be shorter than its limit, with `next`.
 */
export async function listOrders(
  query: Omit<OrderQuery, 'status'> & StatusFilter,
  context: ReadContext,
  options: ReadOptions = {},
): Promise<RenderedPage> {
  if (query.limit > ORDERS_PER_STEP || query.offset || query.status || query.sellToken || query.buyToken) {
    await endStep(options, 0);
  }
  const now = seconds(context.clock);
  const { status, limit, offset = 0, ...filter } = query;
  const filters = status === undefined ? filter : { ...filter, status: { is: status, now } };
  const start =
    offset <= ORDERS_PER_STEP ? { after: query.after, offset } : await skip(filters, offset, context, options);
  if (start === undefined) return { orders: [] };
  // One extra row shows whether there is another page.
  const read = () => collect({ ...filters, ...start, limit: limit + 1 }, context, options, now);
  const { entries, next } = await (limit > ORDERS_PER_STEP ? longPages.run(read) : read());
  const page = entries.slice(0, limit);
  const end = entries.length > page.length ? page.at(-1)?.cursor : next;
  const orders = page.flatMap(({ order }) => order ?? []);
  return end === undefined ? { orders } : { orders, next: end };
}

/** A row of a page. */
interface ListedOrder {
  readonly cursor: OrderCursor;
  /** `undefined` if the row is damaged. */
  readonly order: RenderedOrder | undefined;
}

/** A listing without its optional members being absent. */
type Search = Omit<OrderQuery, 'after'> & { readonly after?: OrderCursor | undefined };

const toCursor = ({ creationDate, uid }: StoredOrder): OrderCursor => ({ creationDate, uid });

const getStepSize = (limit: number) => (limit > ORDERS_PER_STEP ? ORDERS_PER_LONG_STEP : ORDERS_PER_STEP);

/** Waits for the next tick of the event loop, and ends a read whose result is no longer needed. */
export async function endStep(options: ReadOptions, rows: number): Promise<void> {
  countRows(options, rows);
  await nextStep();
  assertNotAborted(options.signal);
}

/** Finds the position after `offset` orders. `undefined` if there are fewer. */
async function skip(
  query: Omit<Search, 'limit'>,
  offset: number,
  { store }: ReadContext,
  options: ReadOptions,
): Promise<{ readonly after: OrderCursor; readonly offset: 0 } | undefined> {
  let { after } = query;
  for (let left = offset; left > 0; ) {
    const step = Math.min(left, SKIPPED_PER_STEP);
    const [row] = await store.orders.list(toQuery({ ...query, after, offset: step - 1, limit: 1 }));
    if (row === undefined) return undefined;
    after = toCursor(row);
    left -= step;
    await endStep(options, Math.ceil(step / SKIPPED_PER_ROW));
  }
  return after && { after, offset: 0 };
}

/**
 * Reads the rows of a page. Each is rendered in the step that has read it, so that a long page keeps no rows. The last
 * row only shows that there is another page. `next` is the position where a search has stopped before the page was
 * full.
 */
async function collect(
  query: Search,
  context: ReadContext,
  options: ReadOptions,
  now: number,
): Promise<{ readonly entries: readonly ListedOrder[]; readonly next?: OrderCursor | undefined }> {
  const { orders } = context.store;
  const entries: ListedOrder[] = [];
  let { after, offset = 0 } = query;
  for (let examined = 0; ; ) {
    const limit = Math.min(getStepSize(query.limit), query.limit - entries.length);
    const part = toQuery({ ...query, after, offset, limit });
    // A store without `scan` does not search in the thread of the book. An offset is part of no search.
    const isSearch = orders.scan !== undefined && offset === 0;
    const { orders: found, next } = isSearch ? await scan(part) : await listPage(part);
    for (const row of found) {
      const order = entries.length < query.limit - 1 ? prepare(row, context) : undefined;
      entries.push({ cursor: toCursor(row), order: order && renderPrepared(order, now) });
    }
    if (entries.length === query.limit || next === undefined) {
      countRows(options, found.length);
      return { entries };
    }
    const isPartial = found.length < limit;
    examined += isPartial ? EXAMINED_PER_STEP : found.length;
    await endStep(options, found.length + (isPartial ? EXAMINED_PER_STEP / SKIPPED_PER_ROW : 0));
    if (examined >= MAX_EXAMINED) return { entries, next };
    after = next;
    offset = 0;
  }

  async function scan(part: OrderQuery): Promise<OrderScan> {
    return (await orders.scan?.(part, EXAMINED_PER_STEP)) ?? { orders: [] };
  }

  async function listPage(part: OrderQuery): Promise<OrderScan> {
    const found = await orders.list(part);
    const last = found.length === part.limit ? found.at(-1) : undefined;
    return last === undefined ? { orders: found } : { orders: found, next: toCursor(last) };
  }
}

/** Removes members that are `undefined` or have no effect. */
function toQuery({ after, offset = 0, ...query }: Search): OrderQuery {
  return { ...query, ...(after === undefined ? {} : { after }), ...(offset === 0 ? {} : { offset }) };
}

interface StatusFilter {
  readonly status?: NonNullable<OrderQuery['status']>['is'];
}
