import type { RelayedCancellation } from '../admission/relay.ts';
import { createUnavailable, UpstreamError } from '../admission/upstream-error.ts';
import { OrderBookError } from '../errors.ts';
import type { UpstreamRejection, UpstreamWrite } from '../ports/upstream.ts';
import { type Hex, UNKNOWN_HASH } from '../protocol/hex.ts';
import type { UpstreamBook } from './context.ts';
import { CLAIM, hasExpired, READS, refresh } from './relay.ts';
import { type CancellationTask, drop, type Followed, isOnItsWay, put } from './tasks.ts';
import { hasEnded } from './wire.ts';

/** Milliseconds until a cancellation that waits for another process is looked at. */
const RETRY = 1_000;

/** Milliseconds between two requests for orders that were given up, and that may still arrive. */
const LATE = 600_000;

/** Kept cancellations that are compared with each other. */
const KEPT = 128;

export type Cancellations = ReturnType<typeof createCancellations>;

/**
 * Creates the relay of cancellations. A signature covers its whole list, and the other book cancels all of it or
 * nothing: so no part of a list can be sent alone. A request without an answer is kept, by its signature.
 */
export function createCancellations(book: UpstreamBook, wakeWorker: () => void) {
  const { upstream, tasks, clock, mode } = book;

  async function cancel(request: unknown, list: readonly Hex[]): Promise<RelayedCancellation> {
    const given = request as CancellationTask['request']; // its shape was parsed
    const uids = [...new Set(list)];
    let { unsent, pending } = await findWaiting(book, uids);
    while (unsent.length === uids.length) {
      if (await withdraw(book, unsent, wakeWorker)) return { status: 'cancelled', uids: list };
      ({ unsent, pending } = await findWaiting(book, uids)); // another process sends one of them
    }
    if (unsent.length > 0) return { status: 'rejected', error: createUnsent(upstream.name, unsent) };
    const kept = await findKept(book);
    // A part of a list that is cancelled first makes the other book reject the list.
    if (kept.some(({ value }) => value.uids.length > uids.length && overlaps(value.uids, new Set(uids))))
      return keep(given, list, 'an earlier cancellation has no answer');
    const answer = await send(upstream, given, list);
    if (answer.status === 'accepted') await cancelHere(book, uids);
    if (answer.status === 'accepted' && pending.length === 0) return { status: 'cancelled', uids: list };
    if (answer.status === 'rejected' && !isEarly(answer, pending)) {
      const isRepeat = kept.some(({ key }) => key === given['signature']);
      if (isRepeat && (await settle(book, uids, answer))?.length === 0) return { status: 'cancelled', uids: list };
      await refresh(book, uids); // this book may not know yet what the other one has answered
      return { status: 'rejected', error: new UpstreamError(answer) };
    }
    if (answer.status === 'blocked' && mode === 'direct')
      return { status: 'rejected', error: createUnavailable(upstream.name, answer.reason, answer.until) };
    const reason = 'reason' in answer ? answer.reason : 'an order is still on its way';
    return keep(given, list, reason, answer.status === 'blocked' ? answer.until : undefined);
  }

  /** Keeps a cancellation, which is repeated until its orders have ended. */
  async function keep(
    request: CancellationTask['request'],
    uids: readonly Hex[],
    reason: string,
    due = clock.now() + READS[0],
  ): Promise<RelayedCancellation> {
    const task: CancellationTask = { request, uids, since: clock.now(), sent: 1 };
    // A client that repeats its request does not postpone the one that is kept.
    await tasks.write([put('cancellation', String(request['signature']), due, task, 0)]);
    wakeWorker();
    const description = `${upstream.name} has not confirmed the cancellation yet: ${reason}`;
    return { status: 'unknown', error: new OrderBookError('OutcomeUnknown', description, { uids }) };
  }

  /** Repeats those of the kept cancellations that are due. Returns their number. */
  async function retry(limit: number): Promise<number> {
    const kept = [...(await findKept(book))].sort((a, b) => b.value.uids.length - a.value.uids.length);
    const held = new Set<Hex>();
    const due = kept.filter((task) => {
      const isReady = task.due <= clock.now() && !overlaps(task.value.uids, held);
      for (const uid of task.value.uids) held.add(uid);
      return isReady;
    });
    const next = due.slice(0, limit);
    await Promise.all(next.map(retryOne));
    return next.length;
  }

  async function retryOne({ key, version, value }: Followed<'cancellation'>): Promise<void> {
    const [isOwn] = await tasks.write([put('cancellation', key, clock.now() + CLAIM, value, version)]);
    if (isOwn !== true) return;
    const due = await repeat(book, value, wakeWorker);
    const own = { key, version: version + 1 };
    const sent = value.sent + 1;
    await tasks.write([
      due === undefined ? drop('cancellation', own) : put('cancellation', key, due, { ...value, sent }, own.version),
    ]);
  }

  return { cancel, retry };
}

/** Repeats a cancellation. Returns when to repeat it again; `undefined` if it has ended. */
async function repeat(
  book: UpstreamBook,
  { request, uids: list, sent }: CancellationTask,
  wakeWorker: () => void,
): Promise<number | undefined> {
  const { upstream, clock, onFailure } = book;
  const uids = [...new Set(list)];
  const { unsent, pending } = await findWaiting(book, uids);
  if (!(await withdraw(book, unsent, wakeWorker))) return clock.now() + RETRY;
  if (unsent.length === uids.length) return undefined;
  const answer = await send(upstream, request, list);
  const later = clock.now() + READS[Math.min(sent, READS.length - 1) as 0]; // within its bounds
  if (answer.status === 'blocked') return Math.max(answer.until, clock.now() + RETRY);
  if (answer.status === 'unknown') return later;
  if (answer.status === 'accepted') {
    await cancelHere(book, uids);
    await refresh(book, uids);
    return pending.length > 0 ? later : undefined; // such an order is not stored here yet
  }
  if (isEarly(answer, pending)) return later;
  const given = answer.code === 'OrderNotFound' ? await findGivenUp(book, uids) : [];
  if (given.length === uids.length) {
    // What was sent may arrive late. Its owner has cancelled it.
    const isAwaited = given.some((task) => task.value.mayArrive === true && !hasExpired(task.key as Hex, clock.now()));
    return isAwaited ? clock.now() + LATE : undefined;
  }
  const live = await settle(book, uids, answer);
  if (live === undefined) return later;
  await refresh(book, uids);
  if (live.length === 0) return pending.length > 0 ? later : undefined;
  // Reads may be older than the cancellation.
  if (answer.code === 'AlreadyCancelled' && sent < READS.length) return later;
  const description = `${answer.description}; ${live.join()} may still be open there`;
  onFailure(new Error(`${upstream.name} rejected a cancellation of ${uids.join()}: ${description}`));
  return undefined;
}

/** Sends a cancellation in the form in which it was signed: of one order, or of a list. */
function send(
  upstream: UpstreamBook['upstream'],
  { orderUid, ...request }: CancellationTask['request'],
  uids: readonly Hex[],
): Promise<UpstreamWrite> {
  const [uid] = uids;
  if (orderUid === undefined || uid === undefined) return upstream.cancelOrders({ ...request, orderUids: uids });
  return upstream.cancelOrder(uid, request);
}

function createUnsent(name: string, unsent: readonly Followed<'relay'>[]): OrderBookError {
  const uids = unsent.map(({ key }) => key);
  const description = `${name} does not have ${uids.join()} yet; these orders need a cancellation without the others`;
  return new OrderBookError('OrderNotFound', description, { uids });
}

const findKept = ({ tasks }: UpstreamBook) => tasks.due('cancellation', Number.MAX_SAFE_INTEGER, KEPT);

/**
 * Returns the orders that the other book does not have, and those that it may have. An order waits as `queued` before
 * it is sent, or after a rejection that proves that it is not stored.
 */
async function findWaiting({ tasks, clock }: UpstreamBook, uids: readonly Hex[]) {
  const waiting = (await tasks.get('relay', uids)).filter(({ value }) => isOnItsWay(value) || value.withdrawn);
  const isUnsent = ({ value: { state, mayArrive, withdrawn } }: Followed<'relay'>) =>
    (state === 'queued' && mayArrive !== true) || withdrawn === true;
  return {
    unsent: waiting.filter(isUnsent),
    pending: waiting.filter((task) => !isUnsent(task) && !hasExpired(task.key as Hex, clock.now())), // a UID
  };
}

/** Takes back orders that the other book does not have. Returns false if another process sends one of them. */
async function withdraw(
  book: UpstreamBook,
  unsent: readonly Followed<'relay'>[],
  wakeWorker: () => void,
): Promise<boolean> {
  const { tasks, clock } = book;
  const reason = 'cancelled by its owner before it was sent';
  const changes = unsent.map(({ key, version, value: { code: _code, ...value } }) =>
    put('relay', key, clock.now(), { ...value, state: 'rejected', reason, withdrawn: true }, version),
  );
  const written = await tasks.write(changes);
  // After a crash, the worker does it.
  for (const [i, { key }] of unsent.entries()) if (written[i] === true) await cancelUnsent(book, key as Hex); // a UID
  wakeWorker();
  return written.every(Boolean);
}

/**
 * Resolves a rejection of a repeat by what the other book has: an earlier request may have arrived, or some of the
 * orders have ended in another way. Returns those that have not ended there; `undefined` if that cannot be read.
 */
async function settle(
  book: UpstreamBook,
  uids: readonly Hex[],
  { code }: UpstreamRejection,
): Promise<readonly Hex[] | undefined> {
  const [only] = uids;
  let cancelled: readonly (Hex | undefined)[] = [only];
  let live: readonly Hex[] = [];
  if (uids.length > 1 || code !== 'AlreadyCancelled') {
    const read = await book.upstream.getOrders(uids);
    if (read.status !== 'read') return undefined;
    const ended = read.value.filter(hasEnded);
    cancelled = ended.filter(({ status }) => status === 'cancelled').map(({ uid }) => uid);
    live = uids.filter((uid) => !ended.some((order) => order.uid === uid));
  }
  await cancelHere(
    book,
    cancelled.filter((uid) => uid !== undefined),
  );
  return live;
}

async function cancelHere({ store, clock, wake }: UpstreamBook, uids: readonly Hex[]): Promise<void> {
  // One by one: some may be filled by the chain already.
  for (const uid of uids) await store.orders.cancel({ uids: [uid], now: 0, cancelledAt: clock.now() });
  wake();
}

/** Returns whether an order that the other book does not have is not to be sent again: its owner has cancelled it. */
export async function isCancelled(book: UpstreamBook, uid: Hex): Promise<boolean> {
  const lists = (await findKept(book)).filter(({ value }) => value.uids.includes(uid)).map(({ value }) => value.uids);
  if (lists.length === 0) return false;
  // The other book cancels all of a list or nothing: the orders of the list that it has need this one.
  const relayed = new Set((await book.tasks.get('relay', lists.flat())).map(({ key }) => key as Hex)); // keys are UIDs
  return lists.some((uids) => uids.every((each) => relayed.has(each)));
}

/** Returns those of the orders that were given up, because the other book does not have them. */
const findGivenUp = async ({ tasks }: UpstreamBook, uids: readonly Hex[]) =>
  (await tasks.get('relay', uids)).filter(({ value }) => value.state === 'rejected');

/** Returns whether a list was rejected because one of its orders has not arrived yet. */
const isEarly = ({ code }: UpstreamRejection, pending: readonly unknown[]) =>
  code === 'OrderNotFound' && pending.length > 0;

const overlaps = (uids: readonly Hex[], others: ReadonlySet<Hex>) => uids.some((uid) => others.has(uid));

/** Cancels an order of this book that the other one does not have. Those without a key of their owner as well. */
export async function cancelUnsent(
  { store, clock, wake }: Pick<UpstreamBook, 'store' | 'clock' | 'wake'>,
  uid: Hex,
): Promise<void> {
  const outcome = await store.orders.cancel({ uids: [uid], now: 0, cancelledAt: clock.now() });
  if (outcome.status === 'rejected' && outcome.reason === 'on-chain') {
    const unplaced = { blockNumber: 0, logIndex: 0, blockHash: UNKNOWN_HASH, transactionHash: UNKNOWN_HASH };
    await store.chain.adopt([{ type: 'invalidation', uid, timestamp: null, ...unplaced }], clock.now());
  }
  wake();
}
