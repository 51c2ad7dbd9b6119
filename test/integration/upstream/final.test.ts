import type { Hex } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { tradeOf } from '../../support/chain-events.ts';
import { findElsewhere, postElsewhere, type World, world } from './worlds.ts';

const isFinal = async ({ book }: World, uid: Hex) => (await book.upstream?.order(uid))?.final;

/** Follows an order that is valid for some hours. */
async function followOne(here: World): Promise<Hex> {
  const validTo = Math.floor(here.clock.now() / 1000) + 4 * 3600;
  const [uid = '0x'] = await postElsewhere(here, 1, { validTo });
  await here.book.upstream?.follow({ uids: [uid] });
  await here.pass(2000);
  return uid;
}

/** Fills an order in both books. */
async function fill(here: World, uid: Hex): Promise<void> {
  const order = await findElsewhere(here, uid);
  const trade = tradeOf(order, BigInt(order.sellAmount), BigInt(order.buyAmount));
  for (const book of [here.book, here.other]) await here.tell(book, 1, [trade]);
  expect(await here.status(uid)).toBe('fulfilled');
}

async function cancelElsewhere(here: World, uid: Hex): Promise<void> {
  await here.other.orders.cancel(await here.cancellation([uid]));
  await here.pass(60_000);
  expect(await here.status(uid)).toBe('cancelled');
}

describe('an order is not final', () => {
  test('just after its fill, and is so when no reorganisation can revert it', async () => {
    const here = await world();
    const uid = await followOne(here);
    await fill(here, uid);
    expect(await isFinal(here, uid)).toBe(false);
    await here.pass(1_100_000, 20_000);
    expect(await isFinal(here, uid)).toBe(false);
    await here.pass(300_000, 20_000);
    expect(await isFinal(here, uid)).toBe(true);
  });

  test('just after a fill that follows its cancellation by minutes', async () => {
    const here = await world();
    const uid = await followOne(here);
    await cancelElsewhere(here, uid);
    await here.pass(1_080_000, 20_000);
    await fill(here, uid);
    await here.pass(300_000, 20_000);
    expect(await isFinal(here, uid)).toBe(false);
    await here.pass(1_500_000, 20_000);
    expect(await isFinal(here, uid)).toBe(true);
  });

  test('just after a fill that follows its confirmed cancellation', async () => {
    const here = await world();
    const uid = await followOne(here);
    await cancelElsewhere(here, uid);
    await here.pass(1_500_000, 20_000);
    expect(await isFinal(here, uid)).toBe(true);
    await fill(here, uid);
    expect(await isFinal(here, uid)).toBe(false);
    await here.pass(14_400_000, 200_000);
    expect(await isFinal(here, uid)).toBe(true);
  });

  test('just after a fill that follows `unfollow`', async () => {
    const here = await world();
    const uid = await followOne(here);
    await here.book.upstream?.unfollow({ uids: [uid] });
    await fill(here, uid);
    expect(await isFinal(here, uid)).toBe(false);
    await here.pass(16_000_000, 200_000);
    expect(await isFinal(here, uid)).toBe(true);
  });

  test('after its cancellation and `unfollow`, until its validity is over', async () => {
    const here = await world();
    const uid = await followOne(here);
    await cancelElsewhere(here, uid);
    await here.book.upstream?.unfollow({ uids: [uid] });
    expect(await isFinal(here, uid)).toBe(false);
    await here.pass(16_000_000, 200_000);
    expect(await isFinal(here, uid)).toBe(true);
  });
});
