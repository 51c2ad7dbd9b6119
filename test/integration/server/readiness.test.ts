import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StoreError } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { serve } from 'intentbook/server';
import { describe, expect, test } from 'vitest';
import { watchReadiness } from '../../../apps/server/books/readiness-watch.ts';
import { manualClock } from '../../support/clock.ts';

/** Only for a hanging test. */
const POLL = { timeout: 60_000 };

/** A memory store whose check fails while `failure` is set. */
function failingStore() {
  const store = memoryStore();
  const state = { failure: undefined as Error | undefined };
  const check = async () => {
    if (state.failure !== undefined) throw state.failure;
    return store.check();
  };
  return { state, store: { ...store, check } };
}

async function readiness(url: string, query = '') {
  const response = await fetch(`${url}/ready${query}`);
  return [response.status, await response.json()] as const;
}

describe('readiness of a server', () => {
  test('is true while one book can serve, and shows the failed ones', async () => {
    const [first, second] = [failingStore(), failingStore()];
    const books = [
      { chain: 'sepolia', store: first.store },
      { chain: 'gnosis', store: second.store },
    ];
    const server = await serve({ port: 0, accounts: ':memory:', books });
    expect(await readiness(server.url)).toMatchObject([200, { ready: true, checks: { accounts: 'ok' } }]);
    expect((await readiness(server.url, '?all'))[0]).toBe(200);

    first.state.failure = new StoreError('Unavailable', 'no connection');
    // A failed check is used at once; a successful one is used for a second.
    await expect
      .poll(() => readiness(server.url), POLL)
      .toMatchObject([200, { ready: true, checks: { '/sepolia store': 'Unavailable', '/xdai store': 'ok' } }]);
    expect(await readiness(server.url, '?all')).toMatchObject([500, { ready: false }]);
    expect((await fetch(`${server.url}/sepolia/api/v1/ready`)).status).toBe(500);
    expect((await fetch(`${server.url}/xdai/api/v1/ready`)).status).toBe(200);

    second.state.failure = new StoreError('Unavailable', 'no connection');
    await expect.poll(async () => (await readiness(server.url))[0], POLL).toBe(500);
    await server.close();
  });

  test('is served during the start, in which the books query their nodes concurrently', async () => {
    const waiting: (() => void)[] = [];
    const node = createServer((request, response: ServerResponse) => {
      request.resume();
      waiting.push(() => response.writeHead(503).end());
    }).listen(0, '127.0.0.1');
    await once(node, 'listening');
    const rpc = (i: number) => [`http://127.0.0.1:${(node.address() as AddressInfo).port}/${i}`]; // it listens
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo; // it listens
    probe.close();
    await once(probe, 'close');

    const books = ['sepolia', 'gnosis', 'base'].map((chain, i) => ({ chain, db: ':memory:', rpc: rpc(i) }));
    const starting = serve({ port, accounts: 'off', defaults: { checkTimeout: 600_000 }, books });
    await expect.poll(() => waiting.length, POLL).toBeGreaterThanOrEqual(books.length);
    const url = `http://127.0.0.1:${port}`;
    expect((await fetch(`${url}/live`)).status).toBe(200);
    expect(await readiness(url)).toMatchObject([500, { ready: false, checks: { server: 'starting' } }]);
    expect((await fetch(`${url}/sepolia/api/v1/version`)).status).toBe(503);
    const release = setInterval(() => {
      for (const respond of waiting.splice(0)) respond();
    }, 5);
    const server = await starting;
    expect((await fetch(`${url}/sepolia/api/v1/version`)).status).toBe(200);
    clearInterval(release);
    node.closeAllConnections();
    node.close();
    await server.close();
  });
});

describe('readiness watch', () => {
  function fixture() {
    const clock = manualClock();
    const state = { checks: { store: 'ok' } as Record<string, string>, hangs: false };
    const [reported, recovered, lost]: [unknown[], string[], unknown[]] = [[], [], []];
    const ready = async () => {
      if (state.hangs) await new Promise(() => {});
      return { ready: state.checks['store'] === 'ok', checks: state.checks };
    };
    const part = { name: '/', ready, report: (failure: unknown) => void reported.push(failure) };
    const observer = {
      onRecovery: (text: string) => void recovered.push(text),
      onLost: (failure: unknown) => void lost.push(failure),
    };
    const watch = watchReadiness([part], observer, clock);
    /** Lets promises settle before and after the next check. */
    const advance = async () => {
      clock.advance(5_000);
      await new Promise(setImmediate);
    };
    return { state, reported, recovered, lost, watch, advance };
  }

  test('reports a change to not ready once, and the recovery', async () => {
    const { state, reported, recovered, lost, watch, advance } = fixture();
    await advance();
    expect([watch.isReady('/'), reported]).toEqual([true, []]);
    state.checks = { store: 'Unavailable' };
    for (let i = 0; i < 3; i++) await advance();
    expect([watch.isReady('/'), lost]).toEqual([false, []]);
    expect(reported).toMatchObject([{ message: '/ is not ready (store: Unavailable)' }]);
    state.checks = { store: 'ok' };
    await advance();
    expect([watch.isReady('/'), recovered]).toEqual([true, ['/ is ready again']]);
    watch.stop();
  });

  test('reports a lost store once', async () => {
    const { state, reported, lost, watch, advance } = fixture();
    state.checks = { store: 'WriterLost' };
    for (let i = 0; i < 3; i++) await advance();
    expect(reported).toMatchObject([{ code: 'WriterLost' }]);
    expect(lost).toEqual(reported);
    watch.stop();
  });

  test('reports a lost store after another check has failed', async () => {
    const { state, reported, lost, watch, advance } = fixture();
    state.checks = { store: 'unavailable' };
    await advance();
    state.checks = { store: 'WriterLost' };
    for (let i = 0; i < 3; i++) await advance();
    expect(lost).toMatchObject([{ code: 'WriterLost' }]);
    expect(reported).toMatchObject([{ message: '/ is not ready (store: unavailable)' }, lost[0]]);
    watch.stop();
  });

  test('reports a lost store at once when it is woken by a failed write', async () => {
    const { state, lost, watch } = fixture();
    state.checks = { store: 'WriterLost' };
    watch.wake();
    watch.wake();
    await new Promise(setImmediate);
    expect(lost).toMatchObject([{ code: 'WriterLost' }]);
    watch.stop();
  });

  test('reports a check that does not end', async () => {
    const { state, reported, watch, advance } = fixture();
    state.hangs = true;
    await advance();
    await advance();
    expect(watch.isReady('/')).toBe(false);
    expect(reported).toMatchObject([{ message: '/ is not ready (store: no response)' }]);
    watch.stop();
  });
});
