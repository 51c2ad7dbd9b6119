import type { Hex } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { type World, world } from './worlds.ts';

const accepted = (result: { status: string; uid?: Hex }): Hex => {
  expect(result).toMatchObject({ status: 'accepted' });
  return result.uid as Hex;
};

/** A rejection that may pass. */
const REJECTED = { status: 'rejected', code: 'InsufficientBalance', description: 'too low', httpStatus: 400 } as const;

/** Lets time pass until both books have a status of an order. */
async function untilBoth(here: World, uid: Hex, expected: string): Promise<void> {
  const read = async () => {
    await here.pass(60_000, 5000);
    return [await here.status(uid), (await here.other.orders.get(uid))?.status];
  };
  await expect.poll(read, { timeout: 30_000 }).toEqual([expected, expected]);
}

describe('an order that arrives long after its request', () => {
  test.each(['direct', 'queue'] as const)('is cancelled if its owner has cancelled it: relay %s', async (relay) => {
    const here = await world({ relay });
    const { book, upstream, order, pass, cancellation } = here;
    upstream.faults.push('late');
    const { uid } = (await book.orders.submit(await order())) as { uid: Hex };
    await pass(2000);
    expect(await book.orders.cancel(await cancellation([uid]))).toMatchObject({ error: { code: 'OutcomeUnknown' } });
    await pass(400_000, 5000);
    expect(await book.upstream?.order(uid)).toMatchObject({ relay: { state: 'rejected', sent: 1 } });
    await upstream.deliver();
    expect((await here.other.orders.get(uid))?.status).toBe('open');
    await untilBoth(here, uid, 'cancelled');
  });

  test('is no longer cancelled after its validity', async () => {
    const { book, upstream, order, pass, cancellation } = await world({ relay: 'queue' });
    upstream.faults.push('vanished');
    const { uid } = (await book.orders.submit(await order())) as { uid: Hex };
    await pass(2000);
    await book.orders.cancel(await cancellation([uid]));
    await pass(4_400_000, 20_000);
    const { cancelOrders } = upstream.calls;
    await pass(4_000_000, 20_000);
    expect(upstream.calls.cancelOrders).toBe(cancelOrders);
    expect(cancelOrders).toBeLessThan(20);
  });

  test('is not withdrawn after the rejection of its repeat, because it may be stored there', async () => {
    const here = await world({ relay: 'queue' });
    const { book, upstream, order, pass, cancellation } = here;
    const { submitOrder } = upstream;
    await upstream.freeze();
    upstream.faults.push('lost');
    const uid = accepted(await book.orders.submit(await order()));
    await pass(2000);
    upstream.submitOrder = async () => REJECTED;
    await pass(300_000, 5000);
    expect(await book.upstream?.order(uid)).toMatchObject({ relay: { state: 'queued', code: REJECTED.code } });
    upstream.submitOrder = submitOrder;
    const result = await book.orders.cancel(await cancellation([uid]));
    expect((await here.other.orders.get(uid))?.status).toBe('cancelled');
    expect(result).toMatchObject({ error: { code: 'OutcomeUnknown' } }); // reads do not show the order yet
    await upstream.freeze(false);
    await untilBoth(here, uid, 'cancelled');
  });
});

describe('a queued order', () => {
  test('is sent again a minute after an answer was lost, whatever an earlier answer was', async () => {
    const { book, other, upstream, order, pass } = await world({ relay: 'queue' });
    const { submitOrder } = upstream;
    upstream.submitOrder = async () => REJECTED;
    const uid = accepted(await book.orders.submit(await order()));
    await pass(5000);
    upstream.submitOrder = submitOrder;
    upstream.faults.push('vanished');
    await pass(600_000, 5000);
    const { relay } = (await book.upstream?.order(uid)) ?? {};
    expect(relay).toEqual({ state: 'unknown', sent: 2, reason: 'the connection was cut' });
    await pass(120_000, 5000);
    expect(await other.orders.get(uid)).toMatchObject({ status: 'open' });
  });

  test('is in the lane of its owner before it can be sent', async () => {
    const inner = memoryStore();
    let isLaneSlow = false;
    const write: typeof inner.tasks.write = async (changes) => {
      if (isLaneSlow && changes.some(({ kind }) => kind === 'lane')) await here.pass(3000);
      return inner.tasks.write(changes);
    };
    const here: World = await world({ relay: 'queue' }, { store: { ...inner, tasks: { ...inner.tasks, write } } });
    const { book, other, upstream, order, pass } = here;
    upstream.faults.push('vanished');
    accepted(await book.orders.submit(await order()));
    await pass(2000);
    isLaneSlow = true;
    const second = accepted(await book.orders.submit(await order()));
    isLaneSlow = false;
    await pass(2000);
    expect(await other.orders.get(second)).toBeUndefined();
    await pass(200_000, 5000);
    expect(await other.orders.get(second)).toMatchObject({ status: 'open' });
  });
});

test('an order whose answer was lost is not that of others with another signature', async () => {
  const { book, other, upstream, order, pass, status } = await world();
  const signed = await order();
  const unsigned = { ...signed, signingScheme: 'presign', signature: '0x' };
  accepted((await other.orders.submit(unsigned as never)) as never);
  upstream.faults.push('lost');
  const { uid } = (await book.orders.submit(signed)) as { uid: Hex };
  await pass(10_000);
  expect(await book.upstream?.order(uid)).toMatchObject({ relay: { state: 'rejected', code: 'DuplicatedOrder' } });
  await pass(60_000);
  expect(await status(uid)).toBe('presignaturePending'); // that of the others is followed
});
