import { assertNotAborted, countRows, type ReadOptions } from '../concurrency/abort.ts';
import { type ConcurrencyLimit, createConcurrencyLimit } from '../concurrency/limit.ts';
import { nextStep } from '../concurrency/steps.ts';
import { seconds } from '../ports/clock.ts';
import type { OrderCursor, OrderQuery, OrderScan, Store, StoredOrder } from '../ports/store.ts';
import { type Allocate, joinArray } from '../protocol/json.ts';
import { type RenderedOrder, renderPrepared } from '../records/order-json.ts';
import type { RenderedPage } from '../records/results.ts';
import { type ElementForm, encodeOrders, type ReadOrder } from './encode-orders.ts';
import { prepareStoredOrder, type ReadContext } from './read.ts';

/** A page of a listing as a JSON array in UTF-8. */
export interface EncodedPage {
  readonly bytes: Uint8Array;
  /** Number of orders. */
  readonly count: number;
  /** The position where the next page begins; absent on the last page. */
  readonly next?: OrderCursor;
}

/** Orders that are read and rendered in one tick of the event loop: a page of 100 with the row that follows it. */
export const ORDERS_PER_STEP = 128;

/** The same for longer pages, which have several steps. */
const ORDERS_PER_LONG_STEP = 64;

/** Long pages of a store that are read at the same time. More texts would delay each collection of young garbage. */
const MAX_LONG_PAGES = 2;

/** The limits of stores. A store that does not respond must not hold up the pages of other books in the process. */
const longPages = /* @__PURE__ */ new WeakMap<Store, ConcurrencyLimit>();

/** Orders that a listing skips in one step because of its offset. */
const SKIPPED_PER_STEP = 1000;

/** Index entries that a search examines in one step. */
const EXAMINED_PER_STEP = 4000;

/** The same for the orders of an owner: their index has no tokens, so each order is read. */
const OWNED_PER_STEP = 512;

/** Index entries that a search examines at most. The page is then shorter than its limit, and has a next page. */
const MAX_EXAMINED = 100_000;

/** Skipped or examined entries that cost as much as one order that is read. */
const SKIPPED_PER_ROW = 8;

/** Options of a read as bytes. */
export interface EncodedReadOptions extends ReadOptions {
  /** Returns the memory of the bytes. Default: new memory. */
  readonly allocate?: Allocate | undefined;
}

export type ListFilter = Omit<OrderQuery, 'status'> & StatusFilter;

/**
 * Lists orders, newest first, in steps with a tick of the event loop in between. A damaged row is reported and left
 * out, so that it does not hide the others. After a long search the page may be shorter than its limit, with `next`.
 */
export async function listOrders(
  query: ListFilter,
  context: ReadContext,
  options: ReadOptions = {},
): Promise<RenderedPage> {
  const orders: RenderedOrder[] = [];
  const next = await readPage(query, context, options, (read, now) => {
    for (const { order } of read) orders.push(renderPrepared(order, now));
  });
  return next === undefined ? { orders } : { orders, next };
}

/** Lists orders like `listOrders`, as a JSON array. */
export async function listOrderBytes(
  query: ListFilter,
  context: ReadContext,
  options: EncodedReadOptions = {},
): Promise<EncodedPage> {
  const chunks: Uint8Array[] = [];
  let count = 0;
  const next = await readPage(query, context, options, (read, now) => {
    if (read.length > 0) chunks.push(...encodeOrders(read, FORM, now));
    count += read.length;
  });
  const page = { bytes: joinArray(chunks, options.allocate), count };
  return next === undefined ? page : { ...page, next };
}

const FORM: ElementForm = { before: ',', after: '' };

/** Renders the orders of one step. `now` is in seconds since 1970. */
type RenderStep = (orders: readonly ReadOrder[], now: number) => void;

/** Reads a page. Returns the position where the next one begins. */
async function readPage(
  query: ListFilter,
  context: ReadContext,
  options: ReadOptions,
  render: RenderStep,
): Promise<OrderCursor | undefined> {
  if (query.limit > ORDERS_PER_STEP || query.offset || query.status || query.sellToken || query.buyToken) {
    await endStep(options, 0);
  }
  const { status, limit, offset = 0, ...filter } = query;
  const toFilters = (now: number) => (status === undefined ? filter : { ...filter, status: { is: status, now } });
  const start =
    offset <= ORDERS_PER_STEP
      ? { after: query.after, offset }
      : await skip(toFilters(seconds(context.clock)), offset, context, options);
  if (start === undefined) return undefined;
  const read = () => {
    const now = seconds(context.clock); // a long page may have waited
    return readSteps({ ...toFilters(now), ...start, limit }, context, options, (orders) => render(orders, now));
  };
  return limit > ORDERS_PER_STEP ? getLongPages(context.store).run(read, options.client?.()) : read();
}

function getLongPages(store: Store): ConcurrencyLimit {
  const limit = longPages.get(store) ?? createConcurrencyLimit(MAX_LONG_PAGES);
  longPages.set(store, limit);
  return limit;
}

/** A listing without its optional members being absent. */
type Search = Omit<OrderQuery, 'after'> & { readonly after?: OrderCursor | undefined };

const getStepSize = (limit: number) => (limit > ORDERS_PER_STEP ? ORDERS_PER_LONG_STEP : ORDERS_PER_STEP);

/** Waits for the next tick of the event loop, and ends a read whose result is no longer needed. */
export async function endStep(options: ReadOptions, rows: number): Promise<void> {
  countRows(options, rows);
  await nextStep(options);
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
    after = toLast(await store.orders.list(toQuery({ ...query, after, offset: step - 1, limit: 1 })));
    await endStep(options, Math.ceil(step / SKIPPED_PER_ROW));
    if (after === undefined) return undefined;
    left -= step;
  }
  return after && { after, offset: 0 };
}

/**
 * Reads the rows of a page. Each is rendered in the step that has read it, so that a long page keeps no rows. One more
 * row shows whether there is another page.
 *
 * @returns The position of the last order if there is another page, or the one where a search has stopped before.
 */
async function readSteps(
  query: Search,
  context: ReadContext,
  options: ReadOptions,
  render: (orders: readonly ReadOrder[]) => void,
): Promise<OrderCursor | undefined> {
  const { orders } = context.store;
  let { after, offset = 0 } = query;
  let last: OrderCursor | undefined;
  let left = query.limit;
  const examine = query.owner === undefined ? EXAMINED_PER_STEP : OWNED_PER_STEP;
  for (let examined = 0; ; ) {
    const limit = Math.min(getStepSize(query.limit + 1), left + 1);
    const part = toQuery({ ...query, after, offset, limit });
    // A store without `scan` does not search in the thread of the book. An offset is part of no search.
    const isSearch = orders.scan !== undefined && offset === 0;
    const { orders: found, encodedBodies, next } = isSearch ? await scan(part) : await listPage(part);
    const page = found.slice(0, left);
    render(
      page.flatMap((row, i) => {
        const order = prepareStoredOrder(row, context);
        return order === undefined ? [] : [{ order, encodedBody: encodedBodies?.[i] }];
      }),
    );
    left -= page.length;
    last = toLast(page) ?? last;
    if (found.length > page.length || next === undefined) {
      countRows(options, found.length);
      return found.length > page.length ? last : undefined;
    }
    const isPartial = found.length < limit;
    examined += isPartial ? examine : found.length;
    await endStep(options, found.length + (isPartial ? examine / SKIPPED_PER_ROW : 0));
    if (examined >= MAX_EXAMINED) return next;
    after = next;
    offset = 0;
  }

  async function scan(part: OrderQuery): Promise<OrderScan> {
    return (await orders.scan?.(part, examine)) ?? { orders: [] };
  }

  async function listPage(part: OrderQuery): Promise<OrderScan> {
    const found = await orders.list(part);
    const next = found.length === part.limit ? toLast(found) : undefined;
    return next === undefined ? { orders: found } : { orders: found, next };
  }
}

/** Returns the position of the last of some orders. */
function toLast(orders: readonly StoredOrder[]): OrderCursor | undefined {
  const last = orders.at(-1);
  return last && { creationDate: last.creationDate, uid: last.uid };
}

/** Removes members that are `undefined` or have no effect. */
function toQuery({ after, offset = 0, ...query }: Search): OrderQuery {
  return { ...query, ...(after === undefined ? {} : { after }), ...(offset === 0 ? {} : { offset }) };
}

interface StatusFilter {
  readonly status?: NonNullable<OrderQuery['status']>['is'];
}
