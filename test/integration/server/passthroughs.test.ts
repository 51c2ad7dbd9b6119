import { memoryStore } from 'intentbook/memory';
import { type RunningServer, type ServeOptions, serve } from 'intentbook/server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serveFetch } from '../../support/fetch-server.ts';

const ORIGIN = 'https://swap.example.org';

interface Seen {
  readonly line: string;
  readonly key: string | null;
  readonly cookie: string | null;
  readonly body: string;
}

let seen: Seen[];
let respond: (request: Request) => Response;
let service: Awaited<ReturnType<typeof serveFetch>>;
let server: RunningServer | undefined;

beforeEach(async () => {
  seen = [];
  respond = () =>
    Response.json({ ok: true }, { headers: { 'cache-control': 'max-age=7', 'set-cookie': 'a=b', server: 'upstream' } });
  service = await serveFetch(async (request) => {
    const { pathname, search } = new URL(request.url);
    const { headers } = request;
    const body = await request.text();
    seen.push({
      line: `${request.method} ${pathname}${search}`,
      key: headers.get('x-key'),
      cookie: headers.get('cookie'),
      body,
    });
    return respond(request);
  });
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  await service.close();
});

async function start(options: Partial<ServeOptions> = {}): Promise<string> {
  const url = `${service.url}/base/`;
  server = await serve({
    port: 0,
    chain: 'mainnet',
    store: memoryStore(),
    passthroughs: {
      '/proxies/prices': {
        url,
        allow: ['simple/price', 'coins/*/chart'],
        headers: { 'x-key': 'secret' },
        origins: [ORIGIN],
        maxAge: 150,
      },
      '/twap': { url, allow: ['*/*/orders'], methods: ['GET', 'POST'] },
      '/hooks': { url: `${url}?apikey=abc`, allow: [''] },
    },
    ...options,
  });
  return server.url;
}

const headers = { origin: ORIGIN, cookie: 'session=1', authorization: 'Bearer of a user' };

describe('passthrough', () => {
  it('adds the key of the service, and passes neither credentials of the client on nor cookies back', async () => {
    const base = await start();
    const response = await fetch(`${base}/proxies/prices/simple/price?ids=a&x=%2F`, { headers });
    expect([response.status, await response.json()]).toEqual([200, { ok: true }]);
    expect(seen).toEqual([{ line: 'GET /base/simple/price?ids=a&x=%2F', key: 'secret', cookie: null, body: '' }]);
    expect(response.headers.get('cache-control')).toBe('public, max-age=150');
    expect([response.headers.get('set-cookie'), response.headers.get('server')]).toEqual([null, null]);
    await fetch(`${base}/proxies/prices/coins/cow-protocol/chart`, { headers });
    expect(seen.at(-1)?.line).toBe('GET /base/coins/cow-protocol/chart');
  });

  it.each([
    ['another path', '/proxies/prices/simple/other', 404],
    ['a longer path', '/proxies/prices/simple/price/more', 404],
    ['the path of the service alone', '/proxies/prices', 404],
    ['an encoded step in the tree', '/proxies/prices/coins/%2e%2e/chart', 404],
    ['an encoded slash', '/proxies/prices/coins/a%2Fb/chart', 404],
    ['an empty segment', '/proxies/prices/coins//chart', 404],
    ['an encoded prefix', '/%70roxies/prices/simple/price', 404],
    ['another service', '/proxies/other/simple/price', 404],
  ])('rejects %s', async (_, path, status) => {
    const response = await fetch((await start()) + path, { headers });
    expect([response.status, seen]).toEqual([status, []]);
    await response.text();
  });

  it('rejects other methods and origins', async () => {
    const url = `${await start()}/proxies/prices/simple/price`;
    const post = await fetch(url, { method: 'POST', headers });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET']);
    for (const origin of ['https://swap.example.org.evil.example', 'http://swap.example.org', 'null', undefined]) {
      const other = await fetch(url, { headers: origin === undefined ? {} : { origin } });
      expect([other.status, await other.json()]).toMatchObject([403, { errorType: 'Forbidden' }]);
    }
    expect(seen).toEqual([]);
  });

  it('passes the bytes of a JSON body on, and the status of the service', async () => {
    const base = await start();
    respond = () => Response.json({ message: 'no' }, { status: 422 });
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"a": 123456789012345678901234, "b": 1.10}',
    };
    const response = await fetch(`${base}/twap/1/0x12/orders`, init);
    expect([response.status, await response.json()]).toEqual([422, { message: 'no' }]);
    expect(seen).toMatchObject([{ line: 'POST /base/1/0x12/orders', body: init.body }]);
    const malformed = await fetch(`${base}/twap/1/0x12/orders`, { ...init, body: '{' });
    expect([malformed.status, seen.length]).toEqual([400, 1]);
    const large = await fetch(`${base}/twap/1/0x12/orders`, { ...init, body: JSON.stringify('x'.repeat(70_000)) });
    expect([large.status, seen.length]).toEqual([413, 1]);
  });

  it('serves a page of the service as text', async () => {
    respond = () => new Response('<script>alert(1)</script>', { headers: { 'content-type': 'text/html' } });
    const response = await fetch(`${await start()}/hooks?period=last+1d`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect([seen[0]?.line, await response.text()]).toEqual([
      'GET /base?apikey=abc&period=last+1d',
      '<script>alert(1)</script>',
    ]);
  });

  it.each<[string, () => Response]>([
    ['redirects', () => new Response('', { status: 302, headers: { location: 'http://127.0.0.1:1/' } })],
    ['sends more than 8 MB', () => new Response('x'.repeat(9 * 1024 * 1024))],
  ])('responds 503 if the service %s', async (_, answer) => {
    respond = answer;
    const response = await fetch(`${await start()}/hooks`);
    expect([response.status, await response.json()]).toEqual([503, { message: 'The service does not respond' }]);
  });

  it('is charged as a write', async () => {
    const base = await start({ rateLimit: { reads: 100, writes: 1, streams: 1 } });
    const statuses = new Set<number>();
    for (let i = 0; i < 12; i++) {
      const response = await fetch(`${base}/hooks`);
      statuses.add(response.status);
      await response.text();
    }
    expect([...statuses]).toEqual([200, 429]);
  });

  it.each([
    [{ '/api': { url: 'http://x', allow: ['a'] } }, '"/hooks", "/twap", or "/proxies/"'],
    [{ '/proxies/a': { url: 'http://u:p@x', allow: ['a'] } }, 'without a user name'],
    [{ '/proxies/a': { url: 'http://x', allow: [] } }, 'must not be empty'],
    [{ '/proxies/a': { url: 'http://x', allow: ['/a'] } }, 'a path without a slash'],
    [{ '/proxies/a': { url: 'http://x', allow: ['a/../b'] } }, 'a path without a slash'],
    [{ '/proxies/a': { url: 'http://x' } }, 'allow'],
    [
      { '/hooks': { url: 'http://x', allow: ['a'], headers: { key: 'a\nb' } } },
      'must be the value of a header, got text',
    ],
  ])('requires a valid setting: %j', async (passthroughs, message) => {
    await expect(serve({ port: 0, store: memoryStore(), passthroughs: passthroughs as never })).rejects.toThrow(
      message,
    );
  });

  it('is absent by default', async () => {
    const base = await start({ passthroughs: {} });
    for (const path of ['/hooks', '/twap/1/0x12/orders', '/proxies/prices/simple/price'])
      expect((await fetch(base + path)).status).toBe(404);
  });
});
