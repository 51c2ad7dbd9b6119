import type { Hex, UpstreamCall } from 'intentbook';
import { systemClock } from 'intentbook';
import { orderBookUpstream } from 'intentbook/upstream';
import { afterEach, describe, expect, it } from 'vitest';
import { account, SEPOLIA_DOMAIN, signCancellation, signOrder } from '../../support/orders.ts';
import type { BadProxyOptions, Fault } from '../../support/upstream/bad-proxy.ts';
import { startBadProxy } from '../../support/upstream/bad-proxy.ts';
import { startSecondBook } from '../../support/upstream/second-book.ts';

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const signer = account(7);
const OWNER = signer.address.toLowerCase() as Hex;
const FAST = { read: 1e6, write: 1e6, quote: 1e6, concurrency: 2 };

async function start(options: Partial<BadProxyOptions> = {}, budget: object = FAST) {
  const second = await startSecondBook();
  const proxy = await startBadProxy({ target: second.url, retryAfter: '0', ...options });
  const calls: UpstreamCall[] = [];
  // The same clock would share the budget of another test.
  const clock = { ...systemClock };
  const upstream = orderBookUpstream({ url: proxy.url, budget, contact: 'ops@example.org' });
  upstream.open({ ...SEPOLIA_DOMAIN, clock, onCall: (call) => calls.push(call) });
  closers.push(
    () => second.close(),
    () => proxy.close(),
    () => upstream.close(),
  );
  const validTo = Math.floor(Date.now() / 1000) + 3600;
  let amount = 10n ** 18n;
  const createOrder = async () => ({ ...(await signOrder(signer, { validTo, sellAmount: String(amount++) })) });
  return { ...second, proxy, upstream, calls, createOrder };
}

/** The result of a write through each fault, and whether the book has the order then. */
const WRITES: readonly (readonly [Fault, string, boolean])[] = [
  ['none', 'accepted', true],
  ['delay', 'accepted', true],
  ['cut-before', 'unknown', false],
  ['cut-after', 'unknown', true],
  ['duplicate', 'accepted', true],
  ['duplicate-second', 'rejected', true],
  ['402', 'blocked', false],
  ['429', 'blocked', false],
  ['403', 'blocked', false],
  ['302', 'blocked', false],
  ['502', 'unknown', false],
  ['503', 'unknown', false],
  ['504', 'unknown', false],
  ['html', 'unknown', false],
  ['empty', 'unknown', false],
  ['bomb', 'unknown', false],
  ['502-after', 'unknown', true],
  ['truncated', 'unknown', true],
];

describe('order book behind a bad proxy', () => {
  it('gets one order of each write that may have had an effect', async () => {
    for (const [fault, status, isStored] of WRITES) {
      const { upstream, proxy, createOrder, book } = await start();
      proxy.next(fault, 'write');
      const result = await upstream.submitOrder(await createOrder());
      const { orders } = await book.orders.list({ owner: OWNER });
      expect([fault, result.status, orders.length === 1]).toEqual([fault, status, isStored]);
    }
  });

  it.each([
    ['cut-before', 'failed'],
    ['cut-after', 'failed'],
    ['429', 'blocked'],
    ['403', 'blocked'],
    ['302', 'blocked'],
    ['503', 'blocked'],
    ['502', 'failed'],
    ['html', 'failed'],
    ['empty', 'failed'],
    ['bomb', 'failed'],
    ['truncated', 'failed'],
  ] as const)('scenario 16: a read with the fault "%s" is %s, never an empty list', async (fault, status) => {
    const { upstream, proxy, createOrder } = await start();
    const accepted = await upstream.submitOrder(await createOrder());
    proxy.next(fault, 'read');
    const uid = accepted.status === 'accepted' ? (accepted.uid as Hex) : '0x';
    expect(await upstream.getOrders([uid])).toMatchObject({ status });
    proxy.next('none');
    expect(await upstream.getOrders([uid])).toMatchObject({ status: 'read', value: [{ uid, status: 'open' }] });
  });

  it('reads orders, pages and trades, and cancels by both routes', async () => {
    const { upstream, createOrder, proxy } = await start();
    const uids: Hex[] = [];
    for (let i = 0; i < 3; i++) {
      const result = await upstream.submitOrder(await createOrder());
      if (result.status === 'accepted') uids.push(result.uid as Hex);
    }
    const [first = '0x', second = '0x', third = '0x'] = uids;
    const batch = { orderUids: [first, second], ...(await signCancellation(signer, { orderUids: [first, second] })) };
    expect(await upstream.cancelOrders(batch)).toEqual({ status: 'accepted' });
    expect(await upstream.cancelOrders(batch)).toMatchObject({ status: 'rejected', code: 'AlreadyCancelled' });
    expect(await upstream.cancelOrder(third, await signCancellation(signer, { orderUid: third }))).toEqual({
      status: 'accepted',
    });
    expect(await upstream.listOrders(OWNER, { offset: 1, limit: 10 })).toMatchObject({
      status: 'read',
      host: new URL(proxy.url).host,
      value: { rows: [second, first], orders: [{ status: 'cancelled' }, { status: 'cancelled' }] },
    });
    expect(await upstream.listTrades({ owner: OWNER }, { offset: 0, limit: 5 })).toMatchObject({ value: [] });
    expect(await upstream.quote({})).toMatchObject({ status: 'rejected' });
    expect(Math.abs(upstream.status().clockSkew ?? 10_000)).toBeLessThan(5000);
  });

  it('reads what a replica knew, without unknown orders', async () => {
    const { upstream, proxy, createOrder } = await start({ lag: 2 });
    const result = await upstream.submitOrder(await createOrder());
    const uid = result.status === 'accepted' ? (result.uid as Hex) : '0x';
    proxy.next('stale', 'read');
    expect(await upstream.getOrders([uid])).toMatchObject({ status: 'read', value: [] });
    await upstream.getOrders([uid]); // the replica sees it open
    await upstream.cancelOrders({ orderUids: [uid], ...(await signCancellation(signer, { orderUids: [uid] })) });
    expect(await upstream.getOrders([uid])).toMatchObject({ value: [{ status: 'cancelled' }] });
    proxy.next('stale', 'read');
    expect(await upstream.getOrders([uid])).toMatchObject({ value: [{ status: 'open' }] });
  });

  it('serves at most two requests at once, with the faults of a seed', async () => {
    const faults = { delay: 0.3, 'cut-before': 0.1, 'cut-after': 0.1, duplicate: 0.1, '502': 0.1 };
    const { upstream, proxy, createOrder, book } = await start({ seed: 5, faults, maxDelay: 5 });
    const orders = await Promise.all(Array.from({ length: 40 }, createOrder));
    const results = await Promise.all(orders.map((order) => upstream.submitOrder(order)));
    expect(proxy.maxUnderWay).toBeLessThanOrEqual(2);
    expect(proxy.counts).toMatchObject({ write: 40, read: 0 });
    const stored = (await book.orders.list({ owner: OWNER, limit: 100 })).orders.length;
    const accepted = results.filter(({ status }) => status === 'accepted').length;
    const unknown = results.filter(({ status }) => status === 'unknown').length;
    expect(accepted + unknown).toBe(40);
    expect(stored).toBeGreaterThanOrEqual(accepted);
    expect(new Set(proxy.requests.map(({ fault }) => fault)).size).toBeGreaterThan(3);
  });

  it('names the program and its operator', async () => {
    const agents: (string | undefined)[] = [];
    const { upstream, proxy } = await start();
    const other = orderBookUpstream({
      url: proxy.url,
      contact: 'https://example.org/contact',
      fetch: async (_, init) => {
        agents.push(new Headers(init?.headers).get('user-agent') ?? undefined);
        return new Response('[]');
      },
    });
    other.open({ ...SEPOLIA_DOMAIN, clock: { ...systemClock }, onCall: () => {} });
    await other.listOrders(OWNER, { offset: 0, limit: 1 });
    expect(agents).toEqual([expect.stringMatching(/^intentbook\/\d+\.\d+\.\d+ \(\+https:\/\/example.org\/contact\)$/)]);
    proxy.setDown(true);
    expect(await upstream.listOrders(OWNER, { offset: 0, limit: 1 })).toMatchObject({ status: 'failed' });
  });
});
