import { spawnSync } from 'node:child_process';
import { systemClock } from 'intentbook';
import { expect, test } from 'vitest';
import { temporaryFile } from '../integration/stores/temporary.ts';
import { account, SEPOLIA, signOrder } from '../support/orders.ts';

/** Kilobytes that an operation may allocate: a quarter more than it did when this test was last changed. */
const MAX_KB = {
  'submission of an order': 50,
  'by_uids of 128, cached': 288,
  'GET of an order, cached': 7.1,
  'page of an owner with 10 orders': 104,
};

/**
 * Measures operations after the compiler has optimized them; reads are measured five times, because a busy machine
 * compiles late, and the least counts. The young generation is so large that no collection of
 * garbage takes place during a measurement, so what an operation has allocated is what the process uses more.
 */
const PROGRAM = `
  const { readFileSync } = await import('node:fs');
  const { createApi, createOrderBook } = await import('intentbook');
  const { sqliteStore } = await import('intentbook/sqlite');
  let collected = 0;
  const observe = (list) => (collected = list.getEntries().at(-1).startTime);
  new PerformanceObserver(observe).observe({ entryTypes: ['gc'] });
  const { orders, chainId, path } = JSON.parse(readFileSync(0, 'utf8'));
  const store = sqliteStore({ path, writeThread: false });
  const book = createOrderBook({ chainId, store, recovery: 'native', expiryInterval: 'off' });
  await book.start();
  const { handle } = createApi(book);
  const header = (name) => (name === 'content-type' ? 'application/json' : undefined);
  const turn = () => new Promise(setImmediate);
  const read = () => {
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  async function measure(before, count, operation) {
    for (let i = 0; i < before; i++) await operation();
    gc();
    await turn();
    const since = performance.now();
    const used = read();
    for (let i = 0; i < count; i++) await operation();
    const bytes = read() - used;
    await turn();
    if (collected >= since) throw new Error('garbage was collected during a measurement');
    return bytes / count / 1000;
  }
  async function least(before, count, operation) {
    let min = Infinity;
    for (let i = 0; i < 5; i++) min = Math.min(min, await measure(before, count, operation));
    return min;
  }
  const request = async (method, path, content) => {
    const body = content === undefined ? { type: 'none' } : { type: 'bytes', bytes: Buffer.from(content) };
    const response = await handle({ method, path, query: '', header, body });
    if (response.status !== 200) throw new Error('status ' + response.status);
  };
  const uids = [];
  const next = orders.values();
  const results = {};
  results['submission of an order'] = await measure(200, 200, async () => {
    const { status, uid } = await book.orders.submit(next.next().value);
    if (status !== 'accepted') throw new Error(status);
    uids.push(uid);
  });
  const query = JSON.stringify(uids.slice(0, 128));
  const byUids = () => request('POST', '/api/v1/orders/by_uids', query);
  const page = '/api/v1/account/' + orders[0].from + '/orders';
  results['by_uids of 128, cached'] = await least(500, 50, byUids);
  results['GET of an order, cached'] = await least(500, 50, () => request('GET', '/api/v1/orders/' + uids[0]));
  results['page of an owner with 10 orders'] = await least(500, 50, () => request('GET', page));
  console.log(JSON.stringify(results));
  await book.close();`;

test('operations allocate little memory', async () => {
  using file = temporaryFile();
  const validTo = Math.floor(systemClock.now() / 1000) + 3600;
  const orders = await Promise.all(
    Array.from({ length: 400 }, (_, i) => signOrder(account(i % 40), { validTo, sellAmount: `${1000 + i}` })),
  );
  const flags = ['--expose-gc', '--min-semi-space-size=256', '--max-semi-space-size=256', '--input-type=module'];
  const input = JSON.stringify({ orders, chainId: SEPOLIA, path: file.path });
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, '-e', PROGRAM], { input, encoding: 'utf8' });
  expect(stderr).toBe('');
  const allocated = JSON.parse(stdout) as Record<string, number>;
  for (const [name, max] of Object.entries(MAX_KB)) expect.soft(allocated[name], name).toBeLessThan(max);
});
