import { type Hex, unpackUid } from '../protocol/hex.ts';
import type { UpstreamBook } from './context.ts';
import { drop, isOnItsWay, put } from './tasks.ts';

/** Adds an order to the end of its owner's lane. Orders of an owner are sent in the order in which they arrived. */
export async function join({ tasks, clock }: UpstreamBook, owner: string, uid: Hex): Promise<void> {
  for (;;) {
    const [lane] = await tasks.get('lane', [owner]);
    const uids = [...new Set([...(lane?.value.uids ?? []), uid])];
    const [isWritten] = await tasks.write([put('lane', owner, clock.now(), { uids }, lane?.version ?? 0)]);
    if (isWritten === true) return;
  }
}

/** Removes an order from its owner's lane. Returns the order that is the next one. */
async function leave({ tasks, clock }: UpstreamBook, owner: string, uid: Hex): Promise<Hex | undefined> {
  for (;;) {
    const [lane] = await tasks.get('lane', [owner]);
    if (lane === undefined) return undefined;
    const uids = lane.value.uids.filter((each) => each !== uid);
    const change = uids.length === 0 ? drop('lane', lane) : put('lane', owner, clock.now(), { uids }, lane.version);
    const [isWritten] = await tasks.write([change]);
    if (isWritten === true) return uids[0];
  }
}

/**
 * Returns whether an order is the first of its owner's lane. An order may join its lane after it was sent: one that is
 * not on its way holds back no other.
 */
export async function isFirst(book: UpstreamBook, uid: Hex): Promise<boolean> {
  const { tasks } = book;
  const { owner } = unpackUid(uid);
  const [lane] = await tasks.get('lane', [owner]);
  const [head] = lane?.value.uids ?? [];
  if (head === undefined || head === uid || lane?.value.uids.includes(uid) !== true) return true;
  const [task] = await tasks.get('relay', [head]);
  return (task === undefined || !isOnItsWay(task.value)) && (await leave(book, owner, head)) === uid;
}

/** Lets the next order of the owner be sent. */
export async function passTurn(book: UpstreamBook, uid: Hex): Promise<void> {
  const { tasks, clock } = book;
  const next = await leave(book, unpackUid(uid).owner, uid);
  const [task] = next === undefined ? [] : await tasks.get('relay', [next]);
  // Another call works on an order that is sent, and its result must not be lost.
  if (task?.value.state === 'queued')
    await tasks.write([put('relay', task.key, clock.now(), task.value, task.version)]);
}
