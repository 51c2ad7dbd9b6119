import { createWorker, type Worker } from '../concurrency/worker.ts';
import type { Hex } from '../protocol/hex.ts';
import { unpackUid } from '../protocol/uid.ts';
import { type Cancellations, cancelUnsent } from './cancellations.ts';
import type { Insert, UpstreamBook } from './context.ts';
import { CLAIM, leave, READS, refresh, send, storeAccepted } from './relay.ts';
import { drop, type Followed, isOnItsWay, put, type RelayTask } from './tasks.ts';
import { isSameOrder } from './wire.ts';

/** Milliseconds between two looks for due tasks. */
const INTERVAL = 1_000;

/** Orders that are worked on at the same time. The request budget paces their calls. */
const BATCH = 16;

/** Milliseconds after which an order that is not found is sent again: a slow book may store it late. */
const ABSENT_AFTER = 60_000;

/** Reads that must not find an order before it is sent again. */
const ABSENT_READS = 2;

/** Milliseconds after its end for which an order that was sent is looked up, and between these reads. */
const KEEP_LOOKING = 86_400_000;
const LATE_READS = 600_000;

/** Milliseconds for which the state of a rejected order can be read. */
const KEEP_REJECTED = 7 * 86_400_000;

/** Milliseconds until an order that waits for another one is looked at, if its turn was not passed on. */
const LANE_CHECK = 60_000;

/** Returns when an order has expired, in milliseconds since 1970. */
const getEnd = (uid: Hex) => unpackUid(uid).validTo * 1000 + 1;

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

/**
 * Creates the worker that finds out what became of orders whose outcome is not known, sends those that wait, and
 * repeats cancellations without an answer. Several processes share the tasks: each claims the one that it works on.
 */
export function createRelayWorker(
  book: UpstreamBook,
  insert: Insert,
  cancellations: Pick<Cancellations, 'retry' | 'isCancelled'>,
): Worker {
  const { upstream, tasks, clock, onFailure } = book;

  /** Works on a task alone. The version that the work writes on is that of the claim. */
  async function claim(task: Followed<'relay'>): Promise<void> {
    const uid = task.key as Hex; // the key of a relay task is a UID
    const { value } = task;
    const isTurn = value.state === 'queued' && !(await isHeldBack(value)) && (await isFirst(uid));
    // A process that ends after it has sent the order must not leave it as one that was not sent.
    const claimed: RelayTask = isTurn ? { ...value, state: 'sending', sentAt: clock.now(), misses: 0 } : value;
    const [isOwn] = await tasks.write([put('relay', uid, clock.now() + CLAIM, claimed, task.version)]);
    if (isOwn !== true) return;
    const next = isTurn ? await deliver(value, uid) : await advance(value, uid);
    await tasks.write([
      next === undefined
        ? drop('relay', { key: uid, version: task.version + 1 })
        : put('relay', uid, next.due, next.value, task.version + 1),
    ]);
    // An order that was rejected for a reason that may pass does not hold back the later ones.
    const isPostponed = next?.value.state === 'queued' && (value.state !== 'queued' || next.value.sent > value.sent);
    if (next === undefined || !isOnItsWay(next.value) || isPostponed || hasExpired(uid)) await passTurn(uid);
  }

  interface Step {
    readonly due: number;
    readonly value: RelayTask;
  }

  async function advance(task: RelayTask, uid: Hex): Promise<Step | undefined> {
    switch (task.state) {
      case 'queued':
        return { due: clock.now() + LANE_CHECK, value: { reason: 'waits for an earlier order of its owner', ...task } };
      case 'accepted':
        await finish(task, uid);
        return undefined;
      case 'sending': // its process has ended before the answer
      case 'unknown':
        return lookUp({ ...task, mayArrive: true }, uid);
      case 'rejected': {
        const { withdrawn, ...value } = task;
        if (withdrawn !== true) return undefined;
        await cancelUnsent(book, uid);
        return { due: clock.now() + KEEP_REJECTED, value };
      }
    }
  }

  /** The other book rejects a replacement of an order that it does not have yet. */
  async function isHeldBack({ insert: { replaces } }: RelayTask): Promise<boolean> {
    const [old] = replaces === undefined ? [] : await tasks.get('relay', [replaces]);
    return old !== undefined && isOnItsWay(old.value) && !hasExpired(old.key as Hex); // a UID
  }

  /** An order may join its lane after it was sent: one that is not on its way holds back no other. */
  async function isFirst(uid: Hex): Promise<boolean> {
    const { owner } = unpackUid(uid);
    const [lane] = await tasks.get('lane', [owner]);
    const [head] = lane?.value.uids ?? [];
    if (head === undefined || head === uid || lane?.value.uids.includes(uid) !== true) return true;
    const [task] = await tasks.get('relay', [head]);
    return (task === undefined || !isOnItsWay(task.value)) && (await leave(book, owner, head)) === uid;
  }

  /** Lets the next order of the owner be sent. */
  async function passTurn(uid: Hex): Promise<void> {
    const next = await leave(book, unpackUid(uid).owner, uid);
    const [task] = next === undefined ? [] : await tasks.get('relay', [next]);
    if (task !== undefined) await tasks.write([put('relay', task.key, clock.now(), task.value, task.version)]);
  }

  async function deliver(task: RelayTask, uid: Hex): Promise<Step | undefined> {
    const { validTo } = unpackUid(uid);
    // It cannot be sent any more. Reads that did not find it may have been too old, so it is looked up for a day.
    const isLookedUp = task.state !== 'queued' && clock.now() < validTo * 1000 + KEEP_LOOKING;
    if (hasExpired(uid) && isLookedUp) return { due: clock.now() + LATE_READS, value: { ...task, state: 'unknown' } };
    if (hasExpired(uid)) return giveUp(task, uid, task.reason ?? 'it expired before it was sent');
    if (task.mayArrive === true && (await cancellations.isCancelled(uid)))
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
        return { due: Math.max(verdict.until, now + INTERVAL), value: { ...task, reason: verdict.reason } };
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
  async function lookUp(task: RelayTask, uid: Hex): Promise<Step | undefined> {
    const read = await upstream.getOrders([uid]);
    const now = clock.now();
    if (read.status === 'blocked') return { due: Math.max(read.until, now + INTERVAL), value: task };
    const state = 'unknown';
    const next = (misses: number): Step => {
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

  const hasExpired = (uid: Hex) => getEnd(uid) <= clock.now();

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
  async function giveUp(task: RelayTask, uid: Hex, reason: string, code?: string): Promise<Step> {
    if (task.queued === true && !hasExpired(uid)) await cancelUnsent(book, uid);
    onFailure(new Error(`${upstream.name} does not have order ${uid}: ${reason}`));
    // A later read may show the order. The rejection of a repeat proves nothing about what was sent before.
    if (task.mayArrive === true) await refresh(book, [uid]);
    const value: RelayTask = { ...task, state: 'rejected', reason, ...(code === undefined ? {} : { code }) };
    return { due: clock.now() + KEEP_REJECTED, value };
  }

  return createWorker({
    clock,
    interval: INTERVAL,
    onFailure,
    async run(isStopping) {
      for (;;) {
        const now = clock.now() + 1;
        const relays = await tasks.due('relay', now, BATCH);
        if (isStopping()) return undefined;
        const [retried] = await Promise.all([cancellations.retry(BATCH), ...relays.map(claim)]);
        if (relays.length + retried === 0) return undefined;
      }
    },
  });
}
