import type { Hex } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { tradeOf } from '../../support/chain-events.ts';
import { settle } from '../../support/upstream/world.ts';
import { type World, world } from './worlds.ts';

const accepted = (result: { status: string; uid?: Hex; existing?: boolean; error?: unknown }): Hex => {
  expect(result).toMatchObject({ status: 'accepted' });
  return result.uid as Hex;
};

describe('a relayed cancellation', () => {
  test('cancels there, then here', async () => {
    const { book, other, order, cancellation, status } = await world();
    const uid = accepted(await book.orders.submit(await order()));
    expect(await book.orders.cancel(await cancellation([uid]))).toEqual({ status: 'cancelled', uids: [uid] });
    expect((await other.orders.get(uid))?.status).toBe('cancelled');
    expect(await status(uid)).toBe('cancelled');
  });

  test('scenario 5: stays while a replica shows the order as open', async () => {
    const { book, order, cancellation, upstream, pass, status, log } = await world();
    const uid = accepted(await book.orders.submit(await order()));
    await upstream.freeze();
    await book.orders.cancel(await cancellation([uid]));
    await pass(120_000, 5000);
    expect(await status(uid)).toBe('cancelled');
    expect(await log(uid)).toEqual(['created', 'cancelled']);
  });

  test('scenario 7: whose answer is lost is repeated, and a repeat that is cancelled already is a success', async () => {
    const { book, order, cancellation, upstream, pass, status, log } = await world();
    const uid = accepted(await book.orders.submit(await order()));
    upstream.faults.push('lost');
    expect(await book.orders.cancel(await cancellation([uid]))).toMatchObject({ status: 'unknown' });
    await pass(5000);
    expect(await status(uid)).toBe('cancelled');
    expect(await log(uid)).toEqual(['created', 'cancelled']);
  });

  test('of an order that is on its way is not postponed by a client that repeats it', async () => {
    const { book, order, cancellation, upstream, pass, status } = await world({ relay: 'queue' });
    upstream.faults.push('lost');
    const { uid } = (await book.orders.submit((await order()) as never)) as { uid: Hex };
    await pass(250, 50);
    const request = await cancellation([uid]);
    for (let i = 0; i < 60 && (await status(uid)) !== 'cancelled'; i++) {
      await book.orders.cancel(request);
      await pass(500, 100);
    }
    expect(await status(uid)).toBe('cancelled');
  });

  test('scenario 8: of a list with a filled order changes nothing', async () => {
    const { book, other, order, cancellation, status, tell } = await world();
    const [a, b] = [
      accepted(await book.orders.submit(await order())),
      accepted(await book.orders.submit(await order())),
    ];
    const filled = await other.orders.get(b);
    if (filled === undefined) throw new Error('the other book has the order');
    await tell(other, 1, [tradeOf(filled, BigInt(filled.sellAmount), BigInt(filled.buyAmount))]);
    const result = await book.orders.cancel(await cancellation([a, b]));
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'OrderFullyExecuted' } });
    expect(await status(a)).toBe('open');
  });

  test('of a queued order that has not been sent takes it back', async () => {
    const { book, other, order, cancellation, upstream, pass, status } = await world({ relay: 'queue' });
    upstream.setDown(true);
    const uid = accepted(await book.orders.submit(await order()));
    await settle();
    expect(await book.orders.cancel(await cancellation([uid]))).toMatchObject({ status: 'cancelled' });
    upstream.setDown(false);
    await pass(120_000, 5000);
    expect(await other.orders.get(uid)).toBeUndefined();
    expect(await status(uid)).toBe('cancelled');
  });

  test('by a stranger is not sent', async () => {
    const { book, order, cancellation, upstream, bob } = await world();
    const uid = accepted(await book.orders.submit(await order()));
    expect(await book.orders.cancel(await cancellation([uid], bob))).toMatchObject({ status: 'rejected' });
    expect(upstream.calls.cancelOrders).toBe(0);
  });

  test('of an order that waits after a rejection takes it back', async () => {
    const { book, other, order, cancellation, pass, status, log } = await world(
      { relay: 'queue' },
      { other: { limits: { maxOpenOrders: 1 } } },
    );
    const a = accepted(await book.orders.submit(await order()));
    const uid = accepted(await book.orders.submit(await order({ validTo: 1_700_000_000 + 20_000 })));
    await pass(5000);
    expect(await book.orders.cancel(await cancellation([uid]))).toMatchObject({ status: 'cancelled' });
    await other.orders.cancel(await cancellation([a]));
    await pass(4_000_000, 100_000);
    expect(await other.orders.get(uid)).toBeUndefined();
    expect(await status(uid)).toBe('cancelled');
    expect(await log(uid)).toEqual(['created', 'cancelled']);
    expect((await book.upstream?.order(uid))?.relay).toMatchObject({ state: 'rejected' });
  });

  test('that takes an order back lets the next one of its owner be sent', async () => {
    const { book, other, order, cancellation, upstream, pass } = await world({ relay: 'queue' });
    upstream.setDown(true);
    const first = accepted(await book.orders.submit(await order()));
    const next = accepted(await book.orders.submit(await order()));
    await settle();
    await book.orders.cancel(await cancellation([first]));
    upstream.setDown(false);
    await pass(70_000, 5000);
    expect(await other.orders.get(next)).toBeDefined();
    expect(await other.orders.get(first)).toBeUndefined();
  });

  test('of a presigned order that has not been sent takes it back', async () => {
    const { book, order, cancellation, upstream, status } = await world({ relay: 'queue' });
    upstream.setDown(true);
    const presigned = { ...(await order()), signingScheme: 'presign', signature: '0x' } as const;
    const uid = accepted(await book.orders.submit(presigned as never));
    await settle();
    expect(await book.orders.cancel(await cancellation([uid]))).toMatchObject({ status: 'cancelled' });
    expect(await status(uid)).toBe('cancelled');
  });

  test('takes an order back after a crash in the middle', async () => {
    const inner = memoryStore();
    let isKilled = false;
    const cancel: typeof inner.orders.cancel = async (request) => {
      if (isKilled) throw new Error('killed');
      return inner.orders.cancel(request);
    };
    const { book, other, order, cancellation, upstream, pass, restart, status } = await world(
      { relay: 'queue' },
      { store: { ...inner, orders: { ...inner.orders, cancel } } },
    );
    upstream.setDown(true);
    const uid = accepted(await book.orders.submit(await order()));
    await settle();
    isKilled = true;
    await expect(book.orders.cancel(await cancellation([uid]))).rejects.toThrow('killed');
    await restart();
    isKilled = false;
    upstream.setDown(false);
    await pass(100_000, 5000);
    expect(await status(uid)).toBe('cancelled');
    expect(await other.orders.get(uid)).toBeUndefined();
  });

  test('of a queued order that is sent meanwhile is repeated until it is cancelled', async () => {
    const inner = memoryStore();
    let arrive = () => {};
    let isRace = false;
    const write: typeof inner.tasks.write = async (changes) => {
      const isWithdrawal = changes.some(({ to }) => to?.value.includes('"withdrawn":true'));
      if (isWithdrawal && isRace) {
        isRace = false;
        here.upstream.setDown(false);
        await here.pass(65_000, 5000);
      }
      return inner.tasks.write(changes);
    };
    const here: World = await world({ relay: 'queue' }, { store: { ...inner, tasks: { ...inner.tasks, write } } });
    const { book, other, order, cancellation, upstream, pass, status } = here;
    upstream.setDown(true);
    const uid = accepted(await book.orders.submit(await order()));
    await settle();
    const { submitOrder } = upstream;
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    upstream.submitOrder = async (creation) => {
      await arrived;
      return submitOrder(creation);
    };
    isRace = true;
    const result = await book.orders.cancel(await cancellation([uid]));
    arrive();
    expect(result).toMatchObject({ status: 'unknown' });
    await pass(120_000, 5000);
    expect([await status(uid), (await other.orders.get(uid))?.status]).toEqual(['cancelled', 'cancelled']);
  });

  test('of a list with an order that has not been sent names it, and changes nothing', async () => {
    const { book, other, order, cancellation, pass, status } = await world(
      { relay: 'queue' },
      { other: { limits: { maxOpenOrders: 1 } } },
    );
    const sent = accepted(await book.orders.submit(await order()));
    await pass(5000);
    const waiting = accepted(await book.orders.submit(await order()));
    await pass(5000);
    const result = await book.orders.cancel(await cancellation([sent, waiting]));
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'OrderNotFound', data: { uids: [waiting] } } });
    expect([await status(sent), await status(waiting)]).toEqual(['open', 'open']);
    for (const uid of [sent, waiting])
      expect(await book.orders.cancel(await cancellation([uid]))).toMatchObject({ status: 'cancelled' });
    expect((await other.orders.get(sent))?.status).toBe('cancelled');
  });

  test('of a list that never arrived is not applied here after one of its orders was cancelled elsewhere', async () => {
    const { book, other, order, cancellation, upstream, pass, status, log, failures } = await world();
    const [a, b] = [
      accepted(await book.orders.submit(await order())),
      accepted(await book.orders.submit(await order())),
    ];
    upstream.faults.push('vanished');
    expect(await book.orders.cancel(await cancellation([a, b]))).toMatchObject({ status: 'unknown' });
    await other.orders.cancel(await cancellation([a]));
    await pass(300_000, 5000);
    expect([await status(a), await status(b)]).toEqual(['cancelled', 'open']);
    expect(await log(b)).toEqual(['created']);
    expect((await other.orders.get(b))?.status).toBe('open');
    expect(failures.map(String)).toEqual([expect.stringContaining(`${b} may still be open`)]);
  });

  test('of a list whose answer is lost is a success, although a replica shows its orders as open', async () => {
    const { book, order, cancellation, upstream, pass, status, log, failures } = await world();
    const uids = [accepted(await book.orders.submit(await order())), accepted(await book.orders.submit(await order()))];
    await upstream.freeze();
    upstream.faults.push('lost');
    const request = await cancellation(uids);
    expect(await book.orders.cancel(request)).toMatchObject({ status: 'unknown' });
    await pass(20_000);
    await upstream.freeze(false);
    await pass(60_000, 5000);
    for (const uid of uids) {
      expect(await status(uid)).toBe('cancelled');
      expect(await log(uid)).toEqual(['created', 'cancelled']);
    }
    expect(failures).toEqual([]);
  });

  test('is not lost when a part of its list is cancelled as well', async () => {
    const { book, other, order, cancellation, upstream, pass, status } = await world();
    const [a, b] = [
      accepted(await book.orders.submit(await order())),
      accepted(await book.orders.submit(await order())),
    ];
    upstream.faults.push('vanished', 'vanished');
    expect(await book.orders.cancel(await cancellation([a, b]))).toMatchObject({ status: 'unknown' });
    expect(await book.orders.cancel(await cancellation([a]))).toMatchObject({ status: 'unknown' });
    await pass(60_000, 5000);
    for (const uid of [a, b])
      expect([await status(uid), (await other.orders.get(uid))?.status]).toEqual(['cancelled', 'cancelled']);
  });

  test('that a client repeats is a success if the first one arrived', async () => {
    const { book, order, cancellation, upstream } = await world();
    const uid = accepted(await book.orders.submit(await order()));
    upstream.faults.push('lost');
    const request = await cancellation([uid]);
    expect(await book.orders.cancel(request)).toMatchObject({ status: 'unknown' });
    expect(await book.orders.cancel(request)).toMatchObject({ status: 'cancelled' });
  });
});
