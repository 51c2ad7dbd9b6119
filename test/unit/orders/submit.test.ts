import type { OrderCreation } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { RICH, scriptedChain } from '../../support/chain.ts';
import type { AdmissionWorld } from './admission-fixture.ts';
import { accepted, admissionWorld, documentOf, NOW, orderOf, outcomeOf } from './admission-fixture.ts';

const replacing = (uid: string) => documentOf({ replacedOrder: { uid } });

describe('existing order', () => {
  test('is rejected with its UID, or accepted as existing on request', async () => {
    await using world = await admissionWorld();
    const order: OrderCreation = await orderOf();
    const first = await world.book.orders.submit(order, { acceptExisting: true });
    expect(first).toMatchObject({ status: 'accepted', existing: false });
    const { uid } = first as { uid: string };
    expect(await world.book.orders.submit(order, { acceptExisting: true })).toEqual({
      status: 'accepted',
      uid,
      existing: true,
    });
    expect(await world.book.orders.submit(order)).toMatchObject({
      status: 'rejected',
      error: { code: 'DuplicatedOrder', data: { uid } },
    });
  });

  test('is a duplicate whatever else is wrong by now, but only with a valid signature', async () => {
    await using world = await admissionWorld();
    const order = await orderOf({ validTo: NOW + 100 });
    await accepted(world.book, order);
    world.clock.advance(90_000);
    expect(outcomeOf(await world.book.orders.submit(order))).toBe('DuplicatedOrder');
    const late = await world.book.orders.submit(await orderOf({ validTo: NOW + 100 }), { acceptExisting: true });
    expect(outcomeOf(late)).toBe('InsufficientValidTo');
  });

  test.each<[string, (asked: <T>(answer: T) => T) => Parameters<typeof admissionWorld>[0]]>([
    ['the chain', (asked) => ({ chain: scriptedChain({ balanceAndAllowance: () => asked(RICH) }) })],
    ['the host', (asked) => ({ isDenied: () => asked(false) })],
  ])('is reported without a call to %s', async (_, options) => {
    let questions = 0;
    await using world = await admissionWorld(
      options((answer) => {
        questions++;
        return answer;
      }),
    );
    const order = await orderOf();
    await accepted(world.book, order);
    const before = questions;
    expect(before).toBeGreaterThan(0);
    expect(outcomeOf(await world.book.orders.submit(order))).toBe('DuplicatedOrder');
    expect(questions).toBe(before);
  });
});

describe('concurrent submission', () => {
  const submitMany = async ({ book }: AdmissionWorld, orders: readonly OrderCreation[]) =>
    (await book.orders.submitMany(orders)).map(outcomeOf);

  test('returns the outcome of each order at its position', async () => {
    await using world = await admissionWorld();
    const good = await orderOf();
    const orders = [
      good,
      { ...(await orderOf()), feeAmount: '1' },
      await orderOf({ sellAmount: '0' }),
      { ...(await orderOf()), kind: 'no kind' } as never,
      good,
      await orderOf(),
    ];
    const outcomes = ['accepted', 'NonZeroFee', 'ZeroAmount', 'InvalidBody', 'DuplicatedOrder', 'accepted'];
    expect(await submitMany(world, orders)).toEqual(outcomes);
    expect(world.calls.insert).toBe(1);
    expect(await submitMany(world, [])).toEqual([]);
  });

  test('lets one order replace another of the same call', async () => {
    await using world = await admissionWorld();
    const old = await orderOf();
    await using other = await admissionWorld();
    const uid = await accepted(other.book, old);
    const next = await orderOf({ appData: replacing(uid) });
    expect(await submitMany(world, [old, next])).toEqual(['accepted', 'accepted']);
    expect((await world.book.orders.get(uid))?.status).toBe('cancelled');
  });
});

test('submission reads the store only before a rejection or a remote check', async () => {
  await using world = await admissionWorld();
  await accepted(world.book, await orderOf());
  expect(world.calls).toEqual({ get: 0, insert: 1 });
  await world.book.orders.submit(await orderOf({ sellAmount: '0' }));
  expect(world.calls).toEqual({ get: 1, insert: 1 });
});
