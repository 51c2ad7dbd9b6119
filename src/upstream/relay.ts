import type { Relay, RelayedOrder, RelayOutcome } from '../admission/relay.ts';
import { createUnavailable, UpstreamError } from '../admission/upstream-error.ts';
import type { OrderInsert } from '../ports/store.ts';
import type { UpstreamRejection } from '../ports/upstream.ts';
import { type Hex, unpackUid } from '../protocol/hex.ts';
import { isEcdsa } from '../protocol/signature.ts';
import { requireUid } from '../validation/options.ts';
import type { Insert, UpstreamBook } from './context.ts';
import { join } from './lanes.ts';
import { drop, makeDue, put, type RelayTask } from './tasks.ts';
import { hasEnded, isSameOrder, toCreation } from './wire.ts';

/** Milliseconds for which one process works on a task alone. A call of the upstream is shorter. */
export const CLAIM = 90_000;

/** Milliseconds from the first unknown answer to each read of the UID. */
export const READS = [1_000, 3_000, 10_000, 30_000, 60_000] as const;

/** Returns when an order has expired, in milliseconds since 1970. */
export const getEnd = (uid: Hex) => unpackUid(uid).validTo * 1000 + 1;

export const hasExpired = (uid: Hex, now: number) => getEnd(uid) <= now;

/** Bytes of a request that production reads at most. A document is sent on its own before an order that is larger. */
const MAX_BODY = 16_384;

const isTooLarge = (body: unknown) => new TextEncoder().encode(JSON.stringify(body)).length > MAX_BODY;

/** What an answer to a submission proves. */
export type RelayVerdict =
  | { readonly status: 'accepted' }
  /** The other book had it before. */
  | { readonly status: 'existing' }
  | { readonly status: 'rejected'; readonly rejection: UpstreamRejection }
  | { readonly status: 'unknown'; readonly reason: string; readonly code?: string }
  | { readonly status: 'blocked'; readonly reason: string; readonly until: number };

/**
 * Submits an order and returns what the answer proves.
 *
 * @param isRepeat - Whether it was sent before. Any rejection of a repeat proves nothing about the earlier ones: the
 * other book checks balances and validity before it looks for a duplicate.
 */
export async function send(
  { upstream, clock }: Pick<UpstreamBook, 'upstream' | 'clock'>,
  insert: OrderInsert,
  quoteId: number | undefined,
  isRepeat: boolean,
): Promise<RelayVerdict> {
  let creation = toCreation(insert, quoteId);
  if (insert.document !== undefined && isTooLarge(creation)) {
    const put = await upstream.putAppData(insert.document.hash, insert.document.document);
    if (put.status === 'blocked') return put;
    if (put.status === 'unknown') return { status: 'blocked', reason: put.reason, until: clock.now() + READS[0] };
    // A document that is too large alone is rejected with the order.
    if (put.status === 'accepted') creation = toCreation({ order: insert.order }, quoteId);
  }
  const answer = await upstream.submitOrder(creation);
  const { uid } = insert.order;
  switch (answer.status) {
    case 'accepted':
      if (answer.uid?.toLowerCase() === uid) return { status: 'accepted' };
      return { status: 'unknown', reason: `the answer names another UID: ${answer.uid}` };
    case 'unknown':
    case 'blocked':
      return answer;
    case 'rejected':
      if (answer.code === 'DuplicatedOrder') return readBack(upstream, insert, answer);
      if (isRepeat) return { status: 'unknown', reason: answer.description, code: answer.code };
      return { status: 'rejected', rejection: answer };
  }
}

/** Reads an order that the other book calls a duplicate. It is a success if the order is the same and has not ended. */
async function readBack(
  upstream: UpstreamBook['upstream'],
  insert: OrderInsert,
  rejection: UpstreamRejection,
): Promise<RelayVerdict> {
  const { uid } = insert.order;
  const read = await upstream.getOrders([uid]);
  if (read.status !== 'read') return { status: 'unknown', reason: read.reason };
  const found = read.value.find((order) => order.uid === uid);
  if (found === undefined) return { status: 'unknown', reason: 'the order is a duplicate, and is not found' };
  if (!isSameOrder(insert, found)) return { status: 'rejected', rejection };
  if (!hasEnded(found) || found.status === 'fulfilled') return { status: 'existing' };
  return {
    status: 'rejected',
    rejection: { ...rejection, description: `${rejection.description}: it is ${found.status}` },
  };
}

export function createRelay(book: UpstreamBook, cancel: Relay['cancel'], wakeWorker: () => void): Relay {
  const { upstream, tasks, clock, mode } = book;

  async function findQuoteId(quoteId: number | undefined): Promise<number | undefined> {
    if (quoteId === undefined) return undefined;
    const [task] = await tasks.get('quote', [String(quoteId)]);
    return task?.value.upstream === upstream.name ? task.value.id : undefined;
  }

  async function submitOne({ insert, quoteId }: RelayedOrder, store: Insert): Promise<RelayOutcome> {
    const { uid } = insert.order;
    const now = clock.now();
    const named = await findQuoteId(quoteId);
    // The other book decides about the number of orders, and cancels a replaced one.
    const { quota: _quota, ...unlimited } = insert;
    const task: RelayTask = {
      state: mode === 'queue' ? 'queued' : 'sending',
      insert: unlimited,
      since: now,
      sent: 0,
      misses: 0,
      ...(named === undefined ? {} : { quoteId: named }),
      ...(mode === 'queue' && { queued: true }),
    };
    // Before the task: the worker sends an order that is in no lane at once.
    if (mode === 'queue') await join(book, insert.order.owner, uid);
    const [isNew] = await tasks.write([put('relay', uid, mode === 'queue' ? now : now + CLAIM, task, 0)]);
    if (isNew !== true) return repeat({ insert, quoteId }, store);
    if (mode === 'queue') {
      // The replaced order stays until the other book has cancelled it.
      const { replaces: _replaces, ...plain } = unlimited;
      const [outcome] = await store([plain]);
      wakeWorker();
      return outcome ?? { status: 'unknown' };
    }
    return deliver(task, store);
  }

  async function deliver(task: RelayTask, store: Insert): Promise<RelayOutcome> {
    const { insert, quoteId } = task;
    const { uid } = insert.order;
    const verdict = await send(book, insert, quoteId, false);
    const now = clock.now();
    switch (verdict.status) {
      case 'accepted':
      case 'existing': {
        const outcome = (await storeAccepted(book, insert, store)) ?? { status: 'unknown' };
        const isStored = outcome.status === 'inserted' || outcome.status === 'duplicate';
        if (!isStored) return lookUp({ ...task, sent: 1, sentAt: now, reason: 'it was not stored here' }, outcome);
        const ecdsa = isEcdsa(insert.order.signingScheme);
        await tasks.write([drop('relay', { key: uid }), put('order', uid, now, { ecdsa })]);
        return { status: verdict.status === 'existing' ? 'existing' : 'inserted' };
      }
      case 'rejected':
        await tasks.write([drop('relay', { key: uid })]);
        return { status: 'rejected', error: new UpstreamError(verdict.rejection) };
      case 'blocked':
        await tasks.write([drop('relay', { key: uid })]);
        return { status: 'rejected', error: createUnavailable(upstream.name, verdict.reason, verdict.until) };
      case 'unknown':
        return lookUp({ ...task, sent: 1, sentAt: now, reason: verdict.reason }, { status: 'unknown' });
    }
  }

  /** Has the order looked up by its UID. */
  async function lookUp(task: RelayTask, outcome: RelayOutcome): Promise<RelayOutcome> {
    await tasks.write([put('relay', task.insert.order.uid, clock.now() + READS[0], { ...task, state: 'unknown' })]);
    wakeWorker();
    return outcome;
  }

  /** An order that is on its way stays so. One that was given up begins anew: its owner submits it again. */
  async function repeat(order: RelayedOrder, store: Insert): Promise<RelayOutcome> {
    const [task] = await tasks.get('relay', [order.insert.order.uid]);
    if (task?.value.state !== 'rejected') return { status: 'unknown' };
    const [isDropped] = await tasks.write([drop('relay', task)]);
    return isDropped === true ? submitOne(order, store) : { status: 'unknown' };
  }

  return {
    submit: (orders, insert) => Promise.all(orders.map((order) => submitOne(order, insert))),
    cancel,
  };
}

/**
 * Stores an order that the other book has accepted, and cancels the one that it replaces. That decides: nothing of this
 * book rejects it any more. The order may be stored already: it was queued, or the other book was read meanwhile.
 */
export async function storeAccepted({ store, clock, wake }: UpstreamBook, insert: OrderInsert, insertAll: Insert) {
  const { replaces, ...plain } = insert;
  const [outcome] = await insertAll([insert]);
  if (replaces === undefined || outcome?.status === 'inserted') return outcome;
  if (outcome?.status === 'duplicate') {
    await store.orders.cancel({ uids: [replaces], now: 0, cancelledAt: clock.now() });
    wake();
  }
  return outcome?.status === 'notReplaceable' ? (await insertAll([plain]))[0] : outcome;
}

/** Has the other book read again soon. Orders that are not followed are followed from now on. */
export const refresh = (book: UpstreamBook, uids: readonly string[]): Promise<void> =>
  makeDue(book, 'order', uids.map(requireUid), { ecdsa: true });
