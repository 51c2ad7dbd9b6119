import type { UpstreamOrder, UpstreamOrderPage } from '../ports/upstream.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { reportDifference, type UpstreamAdoption } from './adoption.ts';
import type { UpstreamBook } from './context.ts';
import type { OwnerSchedule } from './owner-schedule.ts';
import { type Followed, type OwnerTask, put } from './tasks.ts';

/** Rows of a page. Deep pages are slow for the other book; a page that fails is halved. */
const PAGE = 1000;

/** Rows that successive pages have in common: the list changes below its head. */
const OVERLAP = 16;

/** Milliseconds until a failed page is read again. */
const RETRY = 10_000;

/**
 * Milliseconds until more of the newest rows of an imported owner are read: orders of contracts are listed late. A pass
 * for newest rows that cannot be read begins this time after the last one.
 */
const WHOLE = 600_000;

const DAY = 86_400_000;

/** Rows of the newest page of an imported owner, and of the short one that is read more often. */
const NEWEST = 128;
const FEW = 16;

interface Step {
  readonly due: number;
  readonly value: OwnerTask;
  /** Whether all was read: others may be due. */
  readonly isCurrent?: boolean;
}

/** The state of an owner that is to be imported. */
export const NEW_OWNER: OwnerTask = { phase: 'trades', offset: 0, limit: PAGE, skipped: 0, orders: 0, trades: 0 };

/**
 * Creates the import of owners: their trades, then their orders, page by page, newest first. Pages overlap, and a page
 * must contain the last row of the one before. Otherwise rows have been removed, and the import steps back. Another
 * pass reads the orders of the last days once a day, and if the newest page does not reach down to what is known:
 * orders of contracts are listed late, with the date of their block.
 *
 * A page is stored before the position after it. After a crash, at most this page is read again, and stores nothing.
 */
export function createImport(
  book: UpstreamBook,
  schedule: Pick<OwnerSchedule, 'next'>,
  { adoptTrades, storeNew }: Pick<UpstreamAdoption, 'adoptTrades' | 'storeNew'>,
) {
  const { upstream, store, tasks, clock } = book;

  /** Reads one page of the owner that is due first. Returns false if none is due, or it cannot be read now. */
  async function step(): Promise<boolean> {
    const [task] = await tasks.due('owner', clock.now() + 1, 1);
    if (task === undefined) return false;
    const began = task.value.began ?? clock.now();
    const next = await advance(task.key as Address, { ...task.value, began }); // the key of an owner task is an address
    await tasks.write([put('owner', task.key, next.due, next.value, task.version)]);
    return next.isCurrent === true || next.due <= clock.now();
  }

  async function advance(owner: Address, task: OwnerTask): Promise<Step> {
    if (task.phase === 'current') return readNewest(owner, task);
    const offset = Math.max(task.floor ?? 0, task.offset - OVERLAP);
    const page = { offset, limit: task.limit + (task.offset - offset) };
    return task.phase === 'trades' ? readTrades(owner, task, page) : readOrders(owner, task, page);
  }

  async function readTrades(owner: Address, task: OwnerTask, page: { offset: number; limit: number }): Promise<Step> {
    const limited = { ...page, limit: Math.min(page.limit, PAGE) };
    const read = await upstream.listTrades({ owner }, limited);
    if (read.status !== 'read') return retry(book, owner, task, read);
    const rows = read.value.map(({ blockNumber, logIndex }) => `${blockNumber} ${logIndex}`);
    if (!continues(task, rows)) return stepBack(task);
    const trades = task.trades + (await adoptTrades(read.value));
    const { began, skipped } = task;
    if (rows.length < limited.limit && !isMain(upstream, read)) return wait({ ...task, trades });
    if (rows.length < limited.limit)
      return now({ ...NEW_OWNER, phase: 'orders', skipped, trades, ...(began && { began }) });
    return now(proceed({ ...task, trades }, limited.offset + rows.length, rows));
  }

  async function readOrders(owner: Address, task: OwnerTask, page: { offset: number; limit: number }): Promise<Step> {
    const limited = { ...page, limit: Math.min(page.limit, PAGE) };
    const read = await upstream.listOrders(owner, limited);
    if (read.status !== 'read') return retry(book, owner, task, read);
    const { orders, rows } = read.value;
    const uids: string[] = rows.map((uid) => uid ?? '');
    if (!continues(task, uids)) return stepBack(task);
    const { since = 0 } = task;
    const stored = { ...task, orders: task.orders + (await storeNew(orders, since)) };
    const oldest = orders.at(-1)?.creationDate ?? Number.POSITIVE_INFINITY;
    if (rows.length < limited.limit && !isMain(upstream, read)) return wait(stored);
    const known = task.last === undefined ? 0 : uids.lastIndexOf(task.last) + 1;
    const unread = reportUnread(book, owner, read.value, page.offset, known);
    const next = { ...stored, skipped: task.skipped + unread };
    if (rows.length < limited.limit || oldest < since) {
      const { last: _last, since: _since, floor: _floor, ...rest } = next;
      const due = await schedule.next(orders[0]?.creationDate);
      const value = { ...rest, phase: 'current', offset: 0, limit: PAGE, wholeAt: clock.now() } as const;
      return { due, value, isCurrent: true };
    }
    const end = limited.offset + rows.length;
    // Rows of one time have any order in each read: the next page begins before them.
    const start = end - countLast(orders);
    return now(proceed(next, start > task.offset ? start : end, uids));
  }

  /** Reads the newest rows of an owner. If they do not reach down to a row that is known, more of them are read. */
  async function readNewest(owner: Address, task: OwnerTask): Promise<Step> {
    if (clock.now() - (task.began ?? 0) > DAY) return now(repass(task, clock.now()));
    const isWhole = clock.now() - (task.wholeAt ?? 0) >= WHOLE;
    const page = { offset: 0, limit: isWhole ? NEWEST : FEW };
    const read = await upstream.listOrders(owner, page);
    if (read.status !== 'read') return retry(book, owner, task, read);
    const { orders, rows } = read.value;
    const stored = await store.orders.get(orders.map(({ uid }) => uid));
    const known = new Set(stored.map(({ uid }) => uid));
    const oldest = orders.at(-1);
    const reaches = oldest === undefined || known.has(oldest.uid) || oldest.creationDate < (task.began ?? 0) - DAY;
    if (rows.length === page.limit && !reaches)
      return now(isWhole ? repass(task, clock.now()) : { ...task, wholeAt: 0 });
    if (orders.some(({ uid, executedSellAmount }) => !known.has(uid) && executedSellAmount > 0n)) {
      const trades = await upstream.listTrades({ owner }, { offset: 0, limit: NEWEST });
      if (trades.status !== 'read') return retry(book, owner, task, trades);
      await adoptTrades(trades.value);
    }
    const added = await storeNew(orders, clock.now() - DAY);
    const value = { ...task, orders: task.orders + added, ...(isWhole && { wholeAt: clock.now() }) };
    return { due: await schedule.next(orders[0]?.creationDate), value, isCurrent: true };
  }

  const now = (value: OwnerTask): Step => ({ due: clock.now(), value });
  const wait = (value: OwnerTask): Step => ({ due: clock.now() + RETRY, value });

  return { step };
}

/** Reports the rows that cannot be read, without those of the page before, and returns their number. */
function reportUnread(
  book: UpstreamBook,
  owner: Address,
  { orders, rows }: UpstreamOrderPage,
  offset: number,
  known: number,
): number {
  const isRead = new Set<Hex | null>(orders.map(({ uid }) => uid));
  const unread = [...rows.entries()].slice(known).filter(([, uid]) => !isRead.has(uid));
  for (const [i, uid] of unread) {
    const local = `row ${offset + i} of the orders of ${owner}`;
    reportDifference(book, { uid, field: 'row', local, upstream: 'not readable' });
  }
  return unread.length;
}

/** Only the list of the book itself has an end: that of a failover may be far behind. */
const isMain = (upstream: UpstreamBook['upstream'], { host }: { readonly host: string }) => host === upstream.name;

/** Reads the orders again that are not older than a day before the last pass. */
function repass(task: OwnerTask, now: number): OwnerTask {
  const { began = 0, skipped, orders, trades } = task;
  return { ...NEW_OWNER, phase: 'orders', skipped, orders, trades, began: now, since: began - DAY };
}

/** A failed page is halved. A single row that cannot be read is left out, if others can be read. */
async function retry(book: UpstreamBook, owner: Address, task: OwnerTask, read: UnreadPage): Promise<Step> {
  const { upstream, clock, onFailure, differs } = book;
  const now = clock.now();
  // Without a response, the other book may be down. With one, the page is too large, or a row is damaged.
  const due = read.until ?? now + (read.httpStatus === undefined ? RETRY : 0);
  const isWaiting = read.httpStatus === undefined && (task.phase === 'current' || task.limit === 1);
  if (read.status === 'blocked' || isWaiting) return { due, value: task };
  // A pass reads the newest rows in parts.
  if (task.phase === 'current')
    return now - (task.began ?? 0) < WHOLE ? { due: now + RETRY, value: task } : { due: now, value: repass(task, now) };
  if (task.limit > 1) return { due, value: { ...task, limit: Math.ceil(task.limit / 2) } };
  if (!(await canReadOthers(book, owner, task))) return { due: clock.now() + RETRY, value: task };
  const { last: _last, ...rest } = task;
  const row = `row ${task.offset} of the ${task.phase} of ${owner}`;
  onFailure(new Error(`${upstream.name} cannot list ${row}: skipped`));
  differs.notify({ uid: null, field: 'row', local: row, upstream: 'error', resolution: 'none' });
  const offset = task.offset + 1;
  return { due, value: { ...rest, offset, floor: offset, skipped: task.skipped + 1 } };
}

/**
 * Returns whether other rows can be read. Otherwise the other book fails, and not the row. A page beyond the end, which
 * has no rows, counts after a day only: a book that cannot read any row may return it.
 */
async function canReadOthers(
  { upstream, clock }: UpstreamBook,
  owner: Address,
  { phase, offset, began = 0 }: OwnerTask,
): Promise<boolean> {
  // Adjacent rows may be damaged as well, and the first row.
  const near = [1, -1, 2, -2, OVERLAP, -OVERLAP, PAGE, -offset].map((distance) => offset + distance);
  for (const other of near.filter((row) => row >= 0 && row !== offset)) {
    const page = { offset: other, limit: 1 };
    const read = await (phase === 'trades' ? upstream.listTrades({ owner }, page) : upstream.listOrders(owner, page));
    if (read.status !== 'read') continue;
    const { length } = 'rows' in read.value ? read.value.rows : read.value;
    if (length > 0 || clock.now() - began > DAY) return true;
  }
  return false;
}

/** A read without a result. */
interface UnreadPage {
  readonly status: 'failed' | 'blocked';
  readonly until?: number;
  readonly httpStatus?: number;
}

/** Returns the number of rows at the end of a page that have the time of the last one. */
function countLast(orders: readonly UpstreamOrder[]): number {
  const date = orders.at(-1)?.creationDate;
  return orders.length - 1 - orders.findLastIndex(({ creationDate }) => creationDate !== date);
}

function continues({ offset, last }: OwnerTask, rows: readonly string[]): boolean {
  return offset === 0 || last === undefined || rows.includes(last);
}

/**
 * Rows have been removed: the last row is above, or it was removed itself. The import steps back by a page until it
 * finds it, at most to the first row.
 */
function stepBack(task: OwnerTask) {
  return { due: 0, value: { ...task, floor: 0, offset: Math.max(0, task.offset - Math.max(task.limit, 4 * OVERLAP)) } };
}

function proceed(task: OwnerTask, offset: number, rows: readonly string[]): OwnerTask {
  const last = rows.at(-1);
  return { ...task, offset, limit: Math.min(PAGE - OVERLAP, 2 * task.limit), ...(last === undefined ? {} : { last }) };
}

/** The position of an import, for people. */
export function describeImport({ value }: Followed<'owner'>) {
  const { phase, offset, skipped, orders, trades } = value;
  return { phase, offset, skipped, orders, trades };
}
