import { type Hex, unpackUid } from '../protocol/hex.ts';
import { cancelUnsent, isCancelled } from './cancellations.ts';
import type { Insert, UpstreamBook } from './context.ts';
import { getEnd, hasExpired, READS, refresh, send, storeAccepted } from './relay.ts';
import type { RelayTask } from './tasks.ts';
import { isSameOrder } from './wire.ts';

/** Milliseconds until an order is sent again after a call that was not made. */
const RETRY = 1_000;

/** Milliseconds after which an order that is not found is sent again: a slow book may store it late. */
const ABSENT_AFTER = 60_000;

/** Reads that must not find an order before it is sent again. */
const ABSENT_READS = 2;

/** Milliseconds after its end for which an order that was sent is looked up, and between these reads. */
const KEEP_LOOKING = 86_400_000;
const LATE_READS = 600_000;

/** Milliseconds for which the state of a rejected order can be read. */
export const KEEP_REJECTED = 7 * 86_400_000;

/** Rejections that may pass, by code, with the milliseconds until a queued order is sent again. */
const TRANSIENT: Readonly<Record<string, number>> = {
  InsufficientBalance: 600_000,
  InsufficientAllowance: 600_000,
  NoLiquidity: 600_000,
  TransferSimulationFailed: 600_000,
  TooManyLimitOrders: 3_600_000,
  InvalidAppData: 60_000,
  InvalidEip1271Signature: 15_000,
  InvalidSignature: 15_000,
  InsufficientValidFrom: 15_000,
  InvalidValidFrom: 15_000,
};

/** The next state of an order on its way, and when it is due. */
export interface RelayStep {
  readonly due: number;
  readonly value: RelayTask;
}

/** Creates the delivery of orders: they are sent, and looked for by their UID after an answer that proves nothing. */
export function createRelayDelivery(book: UpstreamBook, insert: Insert) {
  const { upstream, clock, onFailure } = book;

  async function deliver(task: RelayTask, uid: Hex): Promise<RelayStep | undefined> {
    const { validTo } = unpackUid(uid);
    // It cannot be sent any more. Reads that did not find it may have been too old, so it is looked up for a day.
    const isLookedUp = task.state !== 'queued' && clock.now() < validTo * 1000 + KEEP_LOOKING;
    if (hasExpired(uid, clock.now()) && isLookedUp)
      return { due: clock.now() + LATE_READS, value: { ...task, state: 'unknown' } };
    if (hasExpired(uid, clock.now())) return giveUp(task, uid, task.reason ?? 'it expired before it was sent');
    if (task.mayArrive === true && (await isCancelled(book, uid)))
      return giveUp(task, uid, 'cancelled by its owner before it arrived');
    const before: RelayTask = { ...task, sent: task.sent + 1, sentAt: clock.now(), misses: 0 };
    const verdict = await send(book, task.insert, task.quoteId, task.mayArrive === true);
    const now = clock.now();
    switch (verdict.status) {
      case 'accepted':
      case 'existing':
        await finish(before, uid);
        return undefined;
      case 'unknown': {
        const { reason, code } = verdict;
        const { code: _code, ...rest } = before; // of an earlier answer
        const known = code === undefined ? {} : { code };
        return { due: now + READS[0], value: { ...rest, sentAt: now, state: 'unknown', reason, ...known } };
      }
      case 'blocked':
        return { due: Math.max(verdict.until, now + RETRY), value: { ...task, reason: verdict.reason } };
      case 'rejected': {
        const { code, description } = verdict.rejection;
        const wait = task.queued === true ? TRANSIENT[code] : undefined;
        const value: RelayTask = { ...before, state: 'queued', reason: description, code };
        if (wait === undefined) return giveUp(value, uid, description, code);
        return { due: Math.min(now + wait, getEnd(uid)), value };
      }
    }
  }

  /** Looks for an order by its UID. One that stays absent is sent again, unless its last answer was a rejection. */
  async function lookUp(task: RelayTask, uid: Hex): Promise<RelayStep | undefined> {
    const read = await upstream.getOrders([uid]);
    const now = clock.now();
    if (read.status === 'blocked') return { due: Math.max(read.until, now + RETRY), value: task };
    const state = 'unknown';
    const next = (misses: number): RelayStep => {
      const at = (task.sentAt ?? task.since) + (READS[misses] ?? Number.POSITIVE_INFINITY);
      const due = Number.isFinite(at) ? Math.max(now + READS[0], at) : now + ABSENT_AFTER;
      return { due, value: { ...task, state, misses } };
    };
    if (read.status === 'failed') return next(Math.max(1, task.misses));
    const found = read.value.find((order) => order.uid === uid);
    if (found !== undefined && !isSameOrder(task.insert, found))
      return giveUp(task, uid, 'it has the order with another signature', 'DuplicatedOrder');
    if (found !== undefined) {
      await finish(task, uid);
      return undefined;
    }
    const misses = task.misses + 1;
    const isAbsent = misses >= ABSENT_READS && now - (task.sentAt ?? task.since) >= ABSENT_AFTER;
    if (!isAbsent) return next(misses);
    if (task.sent > 1 && task.code !== undefined) {
      const { reason = '', code } = task;
      const wait = task.queued === true ? TRANSIENT[code] : undefined;
      if (wait === undefined) return giveUp(task, uid, reason, code);
      return { due: Math.min(now + wait, getEnd(uid)), value: { ...task, state: 'queued' } };
    }
    return deliver({ ...task, sent: Math.max(1, task.sent) }, uid);
  }

  /** Stores an order that the other book has, and follows it. */
  async function finish({ insert: record }: RelayTask, uid: Hex): Promise<void> {
    await storeAccepted(book, record, insert);
    book.wake();
    await refresh(book, [uid]);
  }

  /**
   * Ends the relay of an order that the other book does not have. If it is stored here, it is cancelled, unless it has
   * expired: reads of the other book may be so old that it has the order after all.
   */
  async function giveUp(task: RelayTask, uid: Hex, reason: string, code?: string): Promise<RelayStep> {
    if (task.queued === true && !hasExpired(uid, clock.now())) await cancelUnsent(book, uid);
    onFailure(new Error(`${upstream.name} does not have order ${uid}: ${reason}`));
    // A later read may show the order. The rejection of a repeat proves nothing about what was sent before.
    if (task.mayArrive === true) await refresh(book, [uid]);
    const value: RelayTask = { ...task, state: 'rejected', reason, ...(code === undefined ? {} : { code }) };
    return { due: clock.now() + KEEP_REJECTED, value };
  }

  return { deliver, lookUp };
}
