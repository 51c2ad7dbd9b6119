import type { Hex } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { scriptedChain } from '../../support/scripted-chain.ts';
import { postElsewhere, untilCurrent, type World, world } from './worlds.ts';

const address = (n: number): Hex => `0x${n.toString(16).padStart(40, '0')}`;

/** Follows a maker and others, so that each has to wait for its turn. */
async function followMany(here: World, count: number): Promise<void> {
  const others = Array.from({ length: count }, (_, i) => address(i + 1));
  await here.book.upstream?.follow({ owners: [...others, here.alice.address] });
  await untilCurrent(here);
  await here.pass(120_000, 5000);
}

const isKnown = async ({ book }: World, uid: Hex) => (await book.orders.get(uid)) !== undefined;

describe('an order that a followed owner places elsewhere', () => {
  test('is found within seconds while few owners are followed', async () => {
    const here = await world();
    await here.book.upstream?.follow({ owners: [here.alice.address] });
    await untilCurrent(here);
    await here.pass(60_000);
    const [uid = '0x'] = await postElsewhere(here, 1);
    expect(await isKnown(here, uid)).toBe(false);
    await here.pass(6000);
    expect(await isKnown(here, uid)).toBe(true);
  });

  test.each([
    ['the owner is followed again', ({ book, alice }: World) => book.upstream?.follow({ owners: [alice.address] })],
    ['the book starts', ({ restart }: World) => restart()],
  ])('is found at once when %s', async (_, cause) => {
    const here = await world();
    await followMany(here, 40);
    const reads = here.upstream.calls.listOrders;
    const [uid = '0x'] = await postElsewhere(here, 1);
    await here.pass(2000);
    expect(await isKnown(here, uid)).toBe(false);
    expect(here.upstream.calls.listOrders - reads).toBeLessThan(5);
    await cause(here);
    await here.pass(2000);
    expect(await isKnown(here, uid)).toBe(true);
  });

  test('is found at once when a chain event concerns the owner', async () => {
    const chain = scriptedChain();
    chain.mine([], []);
    const here = await world({ indexer: { sources: [chain.node('node')], fromBlock: 101, pollInterval: 1000 } });
    await followMany(here, 40);
    const [uid = '0x'] = await postElsewhere(here, 1);
    await here.pass(2000);
    expect(await isKnown(here, uid)).toBe(false);
    const owner = here.alice.address.toLowerCase() as Hex;
    const other = `0x${'77'.repeat(32)}${owner.slice(2)}ffffffff`;
    chain.mine([{ event: 'PreSignature', owner, orderUid: other, signed: true } as never]);
    await here.pass(3000);
    expect(await isKnown(here, uid)).toBe(true);
  });
});
