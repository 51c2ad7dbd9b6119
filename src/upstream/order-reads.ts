import { seconds } from '../ports/clock.ts';
import type { StoredOrder } from '../ports/store.ts';
import type { TaskChange } from '../ports/task-store.ts';
import type { UpstreamOrder } from '../ports/upstream.ts';
import { type Hex, unpackUid } from '../protocol/hex.ts';
import { isEcdsa } from '../protocol/signature.ts';
import { reconcile, toFacts, toPlacement } from '../records/reconcile.ts';
import { adopt, adoptTradesOf, listStoredTrades, reportDifference, type UpstreamAdoption } from './adoption.ts';
import type { UpstreamBook } from './context.ts';
import { CONFIRMATIONS, describeEnd, isOver, WINDOW } from './final.ts';
import { drop, type Followed, type OrderTask, put } from './tasks.ts';
import { hasEnded, toInsert } from './wire.ts';

/** Milliseconds between two looks for due tasks. */
export const INTERVAL = 1_000;

/** Milliseconds by which the clocks of the two books may differ. */
const CLOCKS = 300_000;

/** Orders of a batch that cannot be read alone, at most. */
const MAX_UNREAD = 5;

/** Reads without an order after which the interval between them grows. */
const MISSES = 3;

/** Orders of one read, the maximum of the interface. */
export const BATCH = 128;

/** Milliseconds from a read of a live order to the next one, if the owner can cancel it off chain. */
const READ_INTERVAL = 45_000;

/** The longest interval, in milliseconds. After an outage of the other book, its orders are found within this time. */
const LONGEST_INTERVAL = 900_000;

/** The same for an order whose changes are all on chain, which this book follows. */
const CHAIN_INTERVAL = 600_000;

/** Milliseconds for which a read that shows less than this book knows is taken for an old one. */
const LASTING = 120_000;

/** Milliseconds by which a read may be early, so that batches are full. */
const EARLY = 15_000;

/**
 * Creates the reads of followed orders. A read counts only if nothing has changed the order since the request was sent.
 * Absence is never evidence.
 */
export function createOrderReads(
  book: UpstreamBook,
  { findBeginning, isChainsOwn, storeOrders }: UpstreamAdoption,
  isChainFollowed: () => boolean,
) {
  const { upstream, store, tasks, clock } = book;

  /** Reads a batch of due orders. Returns false if none is due, or none can be read now. */
  async function step(): Promise<boolean> {
    const now = clock.now();
    if ((await tasks.due('order', now + 1, 1)).length === 0) return false;
    const unread: Followed<'order'>[] = [];
    const due = await tasks.due('order', now + EARLY, BATCH);
    const isRead = (await readBatch(due, unread)) && unread.length < due.length;
    if (isRead)
      for (const { key } of unread)
        reportDifference(book, { uid: key as Hex, field: 'row', local: 'followed', upstream: 'error' });
    // While the other book fails for all, no order is read less often. Others are read first.
    const later = ({ key, version, value }: Followed<'order'>) =>
      put('order', key, clock.now() + READ_INTERVAL, value, version);
    await tasks.write(unread.map(isRead ? (task) => postpone(book, task) : later));
    return isRead;
  }

  /**
   * Reads orders. If the other book responds with an error, they are read in parts: one does not block others.
   *
   * @param unread - Receives the orders that cannot be read alone. After a few of them, the other book is down.
   */
  async function readBatch(due: readonly Followed<'order'>[], unread: Followed<'order'>[]): Promise<boolean> {
    const uids = due.map(({ key }) => key as Hex); // the key of an order task is a UID
    const before = new Map((await store.orders.get(uids)).map(({ uid, version }) => [uid, version]));
    const read = await upstream.getOrders(uids);
    if (read.status === 'failed' && read.httpStatus !== undefined) {
      const half = due.length >> 1;
      if (half > 0) return (await readBatch(due.slice(0, half), unread)) && readBatch(due.slice(half), unread);
      return unread.push(...due) < MAX_UNREAD;
    }
    if (read.status !== 'read') return false;
    const found = new Map(read.value.map((order) => [order.uid, order]));
    const orders = new Map((await store.orders.get(uids)).map((order) => [order.uid, order]));
    const current = new Set(uids.filter((uid) => orders.get(uid)?.version === before.get(uid)));
    await storeOrders([...found.values()].filter(({ uid }) => !orders.has(uid)));
    const disputed = new Set<Hex>();
    const unsure = new Set<Hex>();
    const isMain = read.host === upstream.name;
    for (const { key, value } of due) {
      const [order, other] = [orders.get(key as Hex), found.get(key as Hex)];
      if (order === undefined || other === undefined || !current.has(order.uid)) continue;
      const result = await apply(order, other, isMain ? value : undefined);
      if (result.isDisputed) disputed.add(order.uid);
      if (!result.hasTrades) unsure.add(order.uid);
    }
    const { startedAt: readAt } = read;
    const batch = { found, orders, current, disputed, unsure, readAt, isMain, isChainFollowed: isChainFollowed() };
    await tasks.write(due.flatMap((task) => reschedule(book, task, batch)));
    return true;
  }

  /**
   * Applies a read of an order. Returns whether the read shows less than this book knows, and whether the trades could
   * be read.
   *
   * @param task - What earlier reads have shown. `undefined`: the read is of a failover, which may be far behind, so
   * what it lacks proves nothing.
   */
  async function apply(order: StoredOrder, found: UpstreamOrder, task: OrderTask | undefined) {
    const { uid } = order;
    const disputedAt = task?.disputedAt;
    const began = await findBeginning();
    const isFollowed = isChainFollowed() && began !== undefined;
    const chain = !isFollowed ? 'none' : found.creationDate >= began.at + CLOCKS ? 'all' : 'later';
    const isLasting = disputedAt !== undefined && disputedAt + LASTING <= clock.now();
    const result = reconcile(order, found, { chain, isLasting, now: seconds(clock) });
    if (found.onchainUser !== undefined && order.placement === null && !isChainsOwn(found, began?.at)) {
      const record = toInsert(found, book);
      const placement = record && toPlacement(found, record.order);
      if (placement !== undefined) await adopt(book, [placement], found.creationDate);
    }
    if (result.events.length > 0) await adopt(book, result.events);
    if (order.quote === null && found.quote !== undefined && (await store.orders.addQuote(uid, found.quote)))
      book.cache?.forget([uid]);
    // A fill that was mined again in another block, or replaced by another one, has the same amounts.
    const isRepeated = !isFollowed && isDue(task, found, clock.now());
    let hasTrades = true;
    if (result.needsTrades || isRepeated)
      hasTrades = await adoptTradesOf(book, found, isFollowed ? began.block : undefined);
    // The trades stay as they are: other facts are reverted only.
    else if (result.isReverted)
      await adopt(book, [...(await listStoredTrades(book, uid)), ...toFacts(found, [])], clock.now(), [uid]);
    for (const difference of result.differences) book.differs.notify(difference);
    return { isDisputed: result.isDisputed && task !== undefined, hasTrades };
  }

  return { step };
}

/** Returns whether the trades of an order are to be compared again: a reorganisation cannot replace them any more. */
const isDue = (task: OrderTask | undefined, { executedSellAmount }: UpstreamOrder, now: number) =>
  task?.tradesDue !== undefined && task.tradesDue <= now && task.sold === String(executedSellAmount);

/** Returns the next read of an order that is absent or cannot be read. The interval doubles. */
function postpone({ clock }: UpstreamBook, { key, version, value }: Followed<'order'>) {
  const misses = (value.misses ?? 0) + 1;
  const { validTo } = unpackUid(key as Hex); // the key of an order task is a UID
  const isLongOver = misses > MISSES && (validTo + 86_400) * 1000 < clock.now();
  if (isLongOver) return drop('order', { key, version });
  const interval = Math.min(READ_INTERVAL * 2 ** Math.max(0, misses - MISSES), LONGEST_INTERVAL);
  return put('order', key, clock.now() + interval, { ...value, misses }, version);
}

/** Returns the next read of an order. One that has ended in both books is followed no longer. */
function reschedule(
  book: UpstreamBook,
  task: Followed<'order'>,
  { found, orders, current, disputed, unsure, readAt, isMain, isChainFollowed }: Batch,
): TaskChange[] {
  const { key, version, value } = task;
  const uid = key as Hex; // the key of an order task is a UID
  const other = found.get(uid);
  const now = book.clock.now();
  const interval = value.ecdsa || !isChainFollowed ? READ_INTERVAL : CHAIN_INTERVAL;
  const order = orders.get(uid);
  const local = order?.state;
  if (other === undefined) {
    if (value.misses === 1)
      reportDifference(book, { uid, field: 'missing', local: local ?? 'unknown', upstream: 'absent' });
    return [postpone(book, task)];
  }
  const isCounted = current.has(uid);
  const hasEndedHere = local === 'fulfilled' || local === 'cancelled';
  const end = hasEnded(other) || hasEndedHere ? (order && describeEnd(order)) || '' : undefined;
  const endedAt = value.endedAt === undefined || value.end !== end ? now : value.endedAt;
  const sold = String(other.executedSellAmount);
  const isCompared = isMain && isDue(value, other, now) && !unsure.has(uid);
  const tradesDue = value.sold === sold ? value.tradesDue : now + WINDOW;
  const next: OrderTask = {
    ecdsa: isEcdsa(other.signingScheme),
    ...(sold === '0' ? {} : { sold, ...(tradesDue === undefined || isCompared ? {} : { tradesDue }) }),
    ...(isCounted ? { readAt, ...(other.status === undefined ? {} : { status: other.status }) } : {}),
    ...(end === undefined ? {} : { end, endedAt }),
    ...(disputed.has(uid) ? { disputedAt: value.disputedAt ?? now } : {}),
  };
  if (!isCounted) return [put('order', key, now + INTERVAL, { ...value, ...next }, version)];
  if (end === undefined || disputed.has(uid)) return [put('order', key, now + interval, next, version)];
  const confirmation = CONFIRMATIONS.find((after) => endedAt + after > now);
  if (confirmation !== undefined) return [put('order', key, endedAt + confirmation, next, version)];
  if (next.tradesDue !== undefined)
    return [put('order', key, Math.max(next.tradesDue, now + READ_INTERVAL), next, version)];
  // This book must agree: the chain may have shown its part of the end only.
  const isAgreed = other.status === 'expired' || other.status === local;
  if (!isAgreed) return [put('order', key, now + CHAIN_INTERVAL, next, version)];
  const isDone = order === undefined || isOver(order, now);
  return [
    drop('order', { key, version }),
    ...(isDone ? [] : [put('ended', key, order.validTo * 1000 + WINDOW, { end })]),
  ];
}

/** A read of orders, with what this book knows of them. */
interface Batch {
  readonly found: ReadonlyMap<Hex, UpstreamOrder>;
  readonly orders: ReadonlyMap<Hex, StoredOrder>;
  /** The orders that have not changed since the request was sent. */
  readonly current: ReadonlySet<Hex>;
  readonly disputed: ReadonlySet<Hex>;
  /** The orders whose trades could not be read. */
  readonly unsure: ReadonlySet<Hex>;
  /** When the request was sent, in milliseconds since 1970. */
  readonly readAt: number;
  /** Whether the other book itself was read, and not a failover. */
  readonly isMain: boolean;
  readonly isChainFollowed: boolean;
}
