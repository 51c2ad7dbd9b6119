import { createOrderBook, type Hex, type Store, type UpstreamDifference } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { orderBookUpstream } from 'intentbook/upstream';
import { describe, expect, test } from 'vitest';
import { createKillableStore } from '../../simulation/upstream/killable.ts';
import { tradeOf } from '../../support/chain-events.ts';
import { SEPOLIA } from '../../support/orders.ts';
import { createNetwork } from '../../support/upstream/network.ts';
import { settle, upstreamWorld } from '../../support/upstream/world.ts';
import { findElsewhere, postElsewhere, type World, world } from './worlds.ts';

const accepted = (result: { status: string; uid?: Hex }): Hex => {
  expect(result).toMatchObject({ status: 'accepted' });
  return result.uid as Hex;
};

describe('scenario 9', () => {
  test.each(['direct', 'queue'] as const)('a replacement that is sent twice replaces once: relay %s', async (relay) => {
    const { book, other, order, upstream, pass, status, log } = await world({ relay });
    const old = accepted(await book.orders.submit(await order()));
    await pass(5000);
    const codes: string[] = [];
    const { submitOrder } = upstream;
    upstream.submitOrder = async (each) => {
      const answer = await submitOrder(each);
      codes.push(answer.status);
      // Production looks at the replaced order first.
      return answer.status === 'rejected' ? { ...answer, code: 'AlreadyCancelled' } : answer;
    };
    await upstream.freeze();
    upstream.faults.push('lost');
    const appData = JSON.stringify({ version: '1.1.0', metadata: { replacedOrder: { uid: old } } });
    const { uid } = (await book.orders.submit(await order({ appData }))) as { uid: Hex };
    await pass(100_000, 5000);
    expect(codes).toEqual(['unknown', 'rejected']);
    await upstream.freeze(false);
    const getBoth = async () => {
      await pass(60_000, 5000);
      return [await status(old), await status(uid)];
    };
    await expect.poll(getBoth, { timeout: 20_000 }).toEqual(['cancelled', 'open']);
    expect([await log(old), await log(uid)]).toEqual([['created', 'cancelled'], ['created']]);
    expect((await other.orders.list({})).orders.map((each) => each.uid)).toEqual([uid, old]);
    await pass(1_500_000, 20_000);
    expect(codes).toHaveLength(2);
  });
});

/** Lets time pass while a book is served by a network without sockets. */
async function passOver({ clock }: World, ms: number, step = 1000): Promise<void> {
  for (let left = ms; left > 0; left -= step) {
    clock.advance(step);
    await settle();
  }
}

describe('scenario 12', () => {
  test('while each read has status 429 for 8 minutes, staleness grows, and nothing is lost', async () => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1, { validTo: Math.floor(here.clock.now() / 1000) + 36_000 });
    const network = createNetwork(here.other, here.clock);
    const upstream = orderBookUpstream({ url: 'http://other.example', fetch: network.fetch });
    const book = createOrderBook({ chainId: SEPOLIA, clock: here.clock, store: memoryStore(), upstream });
    await book.start();
    await book.upstream?.follow({ uids: [uid] });
    const getStatus = async () => {
      await passOver(here, 5000);
      return (await book.orders.get(uid))?.status;
    };
    await expect.poll(getStatus, { timeout: 20_000 }).toBe('open');
    await passOver(here, 60_000);
    expect((await book.upstream?.state())?.staleness).toBeLessThan(60_000);

    network.state = 'limited';
    const sent = network.sent;
    await here.other.orders.cancel(await here.cancellation([uid]));
    await passOver(here, 480_000);
    const state = await book.upstream?.state();
    expect(state?.staleness).toBeGreaterThan(430_000);
    expect(state?.lag).toBeGreaterThan(380_000);
    expect(state?.paused.read).toMatchObject({ reason: 'responded with status 429' });
    expect((await book.ready()).checks).toMatchObject({ upstream: 'read: responded with status 429' });
    expect(network.sent - sent).toBeLessThanOrEqual(4); // at once, and after 60, 120 and 240 s
    expect((await book.orders.get(uid))?.status).toBe('open');

    network.state = 'up';
    await passOver(here, 480_000);
    await expect.poll(getStatus, { timeout: 20_000 }).toBe('cancelled');
    expect((await book.upstream?.state())?.staleness).toBeLessThan(60_000);
    await book.close();
  });
});

describe('scenario 19', () => {
  /** Returns a store whose process is killed before a write of its import. */
  function killedAt(inner: Store, write: number) {
    const { store, kill } = createKillableStore(inner);
    let count = 0;
    const guard =
      <P extends unknown[], R>(method: (...parameters: P) => Promise<R>) =>
      async (...parameters: P) => {
        if (count++ === write) await kill();
        return method(...parameters);
      };
    return {
      store: {
        ...store,
        orders: { ...store.orders, insert: guard(store.orders.insert) },
        chain: { ...store.chain, adopt: guard(store.chain.adopt) },
        tasks: { ...store.tasks, write: guard(store.tasks.write) },
      },
      isKilled: () => count > write,
      kill,
    };
  }

  test('an import continues after a kill before any of its writes, with no event twice', async () => {
    let isKilled = true;
    for (let write = 1; isKilled; write++) {
      const inner = memoryStore();
      const first = killedAt(inner, write);
      const here = await upstreamWorld({}, { store: first.store });
      const uids = await postElsewhere(here, 5);
      const [filled = '0x', open = '0x'] = uids;
      const order = await findElsewhere(here, filled);
      await here.tell(here.other, 1, [tradeOf(order, BigInt(order.sellAmount), BigInt(order.buyAmount))]);
      await here.book.upstream?.follow({ owners: [here.alice.address] });
      await here.pass(3000);
      isKilled = first.isKilled();
      await first.kill();
      const { store } = createKillableStore(inner);
      const { clock, upstream } = here;
      const book = createOrderBook({ chainId: SEPOLIA, clock, store, upstream });
      await book.start();
      const getPhase = async () => {
        await here.pass(5000);
        return (await book.upstream?.owner(here.alice.address))?.phase;
      };
      await expect.poll(getPhase, { timeout: 20_000 }).toBe('current');
      await here.other.orders.cancel(await here.cancellation([open]));
      await here.pass(120_000, 5000);
      expect([write, (await book.orders.get(filled))?.status]).toEqual([write, 'fulfilled']);
      expect([write, (await book.orders.get(open))?.status]).toEqual([write, 'cancelled']);
      const entries = (await inner.events.after(0, 100)).map(({ type, uid }) => `${type} ${uid}`);
      const created = uids.map((uid) => `created ${uid}`);
      expect([write, [...entries].sort()]).toEqual([
        write,
        [...created, `traded ${filled}`, `cancelled ${open}`].sort(),
      ]);
      await book.close();
      await here.other.close();
    }
  });
});

describe('scenario 23', () => {
  test('129 orders are read in two requests, and no answer about one of them ends another', async () => {
    const here = await world();
    const uids = await postElsewhere(here, 129);
    const sizes: number[] = [];
    const [absent = '0x', failing = '0x'] = uids;
    const { getOrders } = here.upstream;
    const isMissing = new Set<Hex>();
    here.upstream.getOrders = async (read) => {
      sizes.push(read.length);
      const result = await getOrders(read);
      if (result.status !== 'read') return result;
      return { ...result, value: result.value.filter(({ uid }) => !isMissing.has(uid)) };
    };
    const differences: UpstreamDifference[] = [];
    here.book.on('upstreamDiffered', (difference) => void differences.push(difference));
    await here.book.upstream?.follow({ uids });
    const countOpen = async () => {
      await here.pass(5000);
      return (await here.book.orders.list({ limit: 1000 })).orders.filter(({ status }) => status === 'open').length;
    };
    await expect.poll(countOpen, { timeout: 30_000 }).toBe(129);
    expect(Math.max(...sizes)).toBe(128);
    // The other book leaves out an unknown order and one with an error.
    for (const uid of [absent, failing]) isMissing.add(uid);
    await here.pass(300_000, 5000);
    expect(await countOpen()).toBe(129);
    expect(differences.map(({ uid, field }) => `${field} ${uid}`).sort()).toEqual(
      [absent, failing].map((uid) => `missing ${uid}`).sort(),
    );
    expect(await here.book.upstream?.order(absent)).toMatchObject({ status: 'open', final: false });
  });
});

describe('scenario 27', () => {
  test('a fee that never arrives is no difference, and reads end', async () => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 1);
    const differences: UpstreamDifference[] = [];
    here.book.on('upstreamDiffered', (difference) => void differences.push(difference));
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(2000);
    const order = await findElsewhere(here, uid);
    await here.tell(here.other, 7, [tradeOf(order, BigInt(order.sellAmount), BigInt(order.buyAmount))]);
    await here.pass(60_000);
    expect(await here.book.orders.get(uid)).toMatchObject({ status: 'fulfilled', executedFee: '0' });
    const { getOrders } = here.upstream.calls;
    await here.pass(1_500_000, 20_000);
    const reads = { ...here.upstream.calls };
    expect(reads.getOrders - getOrders).toBeLessThanOrEqual(6);
    await here.pass(7_200_000, 200_000);
    expect(here.upstream.calls).toEqual(reads);
    expect(differences.filter(({ field }) => field === 'fee')).toEqual([]);
    expect(await here.log(uid)).toEqual(['created', 'traded']);
  });
});
