import type { Hex, Order } from 'intentbook';
import { afterEach, expect } from 'vitest';
import { upstreamWorld } from '../../support/upstream/world.ts';

export type World = Awaited<ReturnType<typeof upstreamWorld>>;

const worlds: World[] = [];

/** Creates a book in front of another one, and closes both after the test. */
export async function world(...parameters: Parameters<typeof upstreamWorld>): Promise<World> {
  const created = await upstreamWorld(...parameters);
  worlds.push(created);
  return created;
}

afterEach(async () => {
  for (const each of worlds.splice(0)) await each.close();
});

/** Submits orders to the other book only. */
export async function postElsewhere(
  { other, order, clock }: World,
  count: number,
  changes: Parameters<World['order']>[0] = {},
): Promise<Hex[]> {
  const uids: Hex[] = [];
  for (let i = 0; i < count; i++) {
    clock.advance(1);
    uids.push(((await other.orders.submit((await order(changes)) as never)) as { uid: Hex }).uid);
  }
  return uids;
}

/** Reads an order of the other book. */
export async function findElsewhere({ other }: World, uid: Hex): Promise<Order> {
  const order = await other.orders.get(uid);
  if (order === undefined) throw new Error('the other book has no such order');
  return order;
}

/** Waits until an owner is imported. Pages are read and stored in real time. */
export async function untilCurrent({ book, pass, alice }: World): Promise<void> {
  const getPhase = async () => {
    await pass(5000);
    return (await book.upstream?.owner(alice.address))?.phase;
  };
  await expect.poll(getPhase, { timeout: 20_000 }).toBe('current');
}
