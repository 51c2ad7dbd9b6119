import type { OrderCreation } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { FUNDED, scriptedChain } from '../../support/chain.ts';
import type { AdmissionFixture } from './admission-fixture.ts';
import { accepted, admissionFixture, documentOf, NOW, orderOf, outcomeOf } from './admission-fixture.ts';

const replacing = (uid: string) => documentOf({ replacedOrder: { uid } });

describe('existing order', () => {
  test('is rejected with its UID, or accepted as existing on request', async () => {
    await using fixture = await admissionFixture();
    const order: OrderCreation = await orderOf();
    const first = await fixture.book.orders.submit(order, { acceptExisting: true });
    expect(first).toMatchObject({ status: 'accepted', existing: false });
    const { uid } = first as { uid: string };
    expect(await fixture.book.orders.submit(order, { acceptExisting: true })).toEqual({
      status: 'accepted',
      uid,
      existing: true,
    });
    expect(await fixture.book.orders.submit(order)).toMatchObject({
      status: 'rejected',
      error: { code: 'DuplicatedOrder', data: { uid } },
    });
  });

  test('is a duplicate whatever else is wrong by now, but only with a valid signature', async () => {
    await using fixture = await admissionFixture();
    const order = await orderOf({ validTo: NOW + 100 });
    await accepted(fixture.book, order);
    fixture.clock.advance(90_000);
    expect(outcomeOf(await fixture.book.orders.submit(order))).toBe('DuplicatedOrder');
    const late = await fixture.book.orders.submit(await orderOf({ validTo: NOW + 100 }), { acceptExisting: true });
    expect(outcomeOf(late)).toBe('InsufficientValidTo');
  });

  test.each<[string, (called: <T>(answer: T) => T) => Parameters<typeof admissionFixture>[0]]>([
    ['the chain', (called) => ({ chain: scriptedChain({ balanceAndAllowance: () => called(FUNDED) }) })],
    ['the host', (called) => ({ isDenied: () => called(false) })],
  ])('is reported without a call to %s', async (_, options) => {
    let questions = 0;
    await using fixture = await admissionFixture(
      options((answer) => {
        questions++;
        return answer;
      }),
    );
    const order = await orderOf();
    await accepted(fixture.book, order);
    const before = questions;
    expect(before).toBeGreaterThan(0);
    expect(outcomeOf(await fixture.book.orders.submit(order))).toBe('DuplicatedOrder');
    expect(questions).toBe(before);
  });
});

test('existing order is a duplicate if another submission of it has replaced the old order during the checks', async () => {
  const store = memoryStore();
  const { get } = store.orders;
  let beforeGet = async (_uid: string | undefined) => {};
  const delayed = {
    ...store.orders,
    async get(uids: Parameters<typeof get>[0]) {
      await beforeGet(uids[0]);
      return get(uids);
    },
  };
  await using fixture = await admissionFixture({ store: { ...store, orders: delayed } });
  const old = await accepted(fixture.book, await orderOf());
  const order = await orderOf({ appData: replacing(old) });
  let other = '';
  beforeGet = async (uid) => {
    if (uid !== old) return;
    beforeGet = async () => {};
    other = outcomeOf(await fixture.book.orders.submit(order));
  };
  expect(outcomeOf(await fixture.book.orders.submit(order))).toBe('DuplicatedOrder');
  expect(other).toBe('accepted');
});

describe('concurrent submission', () => {
  const submitMany = async ({ book }: AdmissionFixture, orders: readonly OrderCreation[]) =>
    (await book.orders.submitMany(orders)).map(outcomeOf);

  test('returns the outcome of each order at its position', async () => {
    await using fixture = await admissionFixture();
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
    expect(await submitMany(fixture, orders)).toEqual(outcomes);
    expect(fixture.calls.insert).toBe(1);
    expect(await submitMany(fixture, [])).toEqual([]);
  });

  test('lets one order replace another of the same call', async () => {
    await using fixture = await admissionFixture();
    const old = await orderOf();
    await using other = await admissionFixture();
    const uid = await accepted(other.book, old);
    const next = await orderOf({ appData: replacing(uid) });
    expect(await submitMany(fixture, [old, next])).toEqual(['accepted', 'accepted']);
    expect((await fixture.book.orders.get(uid))?.status).toBe('cancelled');
  });
});

test('submission reads the store only before a rejection or a remote check', async () => {
  await using fixture = await admissionFixture();
  await accepted(fixture.book, await orderOf());
  expect(fixture.calls).toEqual({ get: 0, insert: 1 });
  await fixture.book.orders.submit(await orderOf({ sellAmount: '0' }));
  expect(fixture.calls).toEqual({ get: 1, insert: 1 });
});
