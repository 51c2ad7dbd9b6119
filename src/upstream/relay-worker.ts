import { createWorker, type Worker } from '../concurrency/lifecycle.ts';
import type { Hex } from '../protocol/hex.ts';
import { type Cancellations, cancelUnsent } from './cancellations.ts';
import type { Insert, UpstreamBook } from './context.ts';
import { isFirst, passTurn } from './lanes.ts';
import { CLAIM, hasExpired } from './relay.ts';
import { createRelayDelivery, KEEP_REJECTED, type RelayStep } from './relay-delivery.ts';
import { drop, type Followed, isOnItsWay, put, type RelayTask } from './tasks.ts';

/** Milliseconds between two looks for due tasks. */
const INTERVAL = 1_000;

/** Orders that are worked on at the same time. The request budget paces their calls. */
const BATCH = 16;

/** Milliseconds until an order that waits for another one is looked at, if its turn was not passed on. */
const LANE_CHECK = 60_000;

/**
 * Creates the worker that finds out what became of orders whose outcome is not known, sends those that wait, and
 * repeats cancellations without an answer. Several processes share the tasks: each claims the one that it works on.
 */
export function createRelayWorker(
  book: UpstreamBook,
  insert: Insert,
  cancellations: Pick<Cancellations, 'retry'>,
): Worker {
  const { tasks, clock, onFailure } = book;
  const { deliver, lookUp } = createRelayDelivery(book, insert);

  /** Works on a task alone. The version that the work writes on is that of the claim. */
  async function claim(task: Followed<'relay'>): Promise<void> {
    const uid = task.key as Hex; // the key of a relay task is a UID
    const { value } = task;
    const isTurn = value.state === 'queued' && !(await isHeldBack(value)) && (await isFirst(book, uid));
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
    if (next === undefined || !isOnItsWay(next.value) || isPostponed || hasExpired(uid, clock.now()))
      await passTurn(book, uid);
  }

  async function advance(task: RelayTask, uid: Hex): Promise<RelayStep | undefined> {
    switch (task.state) {
      case 'queued':
        return { due: clock.now() + LANE_CHECK, value: { reason: 'waits for an earlier order of its owner', ...task } };
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
    return old !== undefined && isOnItsWay(old.value) && !hasExpired(old.key as Hex, clock.now()); // a UID
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
