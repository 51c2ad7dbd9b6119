import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Api, ApiRequest, ApiResponse } from 'intentbook';
import { fetchHandler } from 'intentbook/fetch';
import { nodeHandler } from 'intentbook/node-http';
import { afterEach, describe, expect, test } from 'vitest';

type Answer = (request: ApiRequest) => Promise<ApiResponse> | ApiResponse;

/** Sends a request to a mounted API, by path and with the parameters of `fetch`. */
type Send = (path: string, init?: RequestInit & { duplex?: 'half' }) => Promise<Response>;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const MOUNTS: Readonly<Record<string, (api: Api, prefix: string) => Promise<Send>>> = {
  'node-http': async (api, prefix) => {
    const server = createServer(nodeHandler(api, { prefix }));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(
      () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    );
    const { port } = server.address() as AddressInfo; // a listening server has an address
    return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init);
  },
  fetch: async (api, prefix) => {
    const handle = fetchHandler(api, { prefix });
    return (path, init) => handle(new Request(`http://127.0.0.1${path}`, init));
  },
};

const CASES = Object.entries(MOUNTS).flatMap(([mount, start]) =>
  ['', '/sepolia', '/sepolia/'].map((prefix) => ({ mount, prefix, start })),
);

describe.each(CASES)('$mount mounted at "$prefix"', ({ prefix, start }) => {
  const base = prefix.replace(/\/$/, '');
  const mounted = async (answer: Answer): Promise<Send> => {
    const send = await start({ handle: async (request) => answer(request) }, prefix);
    return (path, init) => send(base + path, init);
  };

  test.each([
    ['/api/v1/orders', '/api/v1/orders', ''],
    ['/api/v1/orders/', '/api/v1/orders/', ''],
    ['//api/v1/orders', '//api/v1/orders', ''],
    ['/api/v1/orders?', '/api/v1/orders', ''],
    ['/api/v1/orders?limit=2&owner=0xAB%20', '/api/v1/orders', 'limit=2&owner=0xAB%20'],
    ['/api/v1/orders?a=1?b=2', '/api/v1/orders', 'a=1?b=2'],
    ['/api/v1/a%2Fb%20c', '/api/v1/a%2Fb%20c', ''],
    ['/', '/', ''],
    ['', '/', ''],
  ])('splits %s without decoding it', async (path, wantedPath, wantedQuery) => {
    const send = await mounted(({ path, query }) => ({ status: 200, headers: {}, body: `${path} ${query}` }));
    expect(await (await send(path)).text()).toBe(`${wantedPath} ${wantedQuery}`);
  });

  test.each(['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])('passes %s on', async (method) => {
    const send = await mounted((request) => ({ status: 200, headers: {}, body: request.method }));
    expect(await (await send('/x', { method })).text()).toBe(method);
  });

  test('reads headers by lower-case name and joins repeated ones', async () => {
    const send = await mounted(({ header }) => ({
      status: 200,
      headers: {},
      body: JSON.stringify([header('if-none-match'), header('x-several'), header('x-absent') ?? null]),
    }));
    const headers = new Headers({ 'If-None-Match': '"a"' });
    headers.append('X-Several', 'one');
    headers.append('X-Several', 'two');
    expect(await (await send('/x', { headers })).json()).toEqual(['"a"', 'one, two', null]);
  });

  test('sends status, headers and length unchanged', async () => {
    const headers = { 'content-type': 'application/json', etag: '"1-open"', 'x-own': 'yes' };
    const send = await mounted(() => ({ status: 201, headers, body: '"é€𝄞"' }));
    const response = await send('/x');
    expect(response.status).toBe(201);
    expect(Object.fromEntries(response.headers)).toMatchObject({ ...headers, 'content-length': '11' });
    expect(await response.text()).toBe('"é€𝄞"');
  });

  test('sends bytes unchanged', async () => {
    const body = Uint8Array.of(0, 255, 128, 10);
    const send = await mounted(() => ({ status: 200, headers: {}, body }));
    expect(new Uint8Array(await (await send('/x')).arrayBuffer())).toEqual(body);
  });

  test('sends a list of bytes as one body', async () => {
    const [first, second] = [Uint8Array.of(0xc3), Uint8Array.of(0xbc, 0x61)];
    for (const body of [[], [first], [first, second], [first, new Uint8Array(), second]]) {
      const send = await mounted(() => ({ status: 200, headers: {}, body }));
      const response = await send('/x');
      expect(Buffer.compare(Buffer.from(await response.arrayBuffer()), Buffer.concat(body))).toBe(0);
      expect(response.headers.get('content-length')).toBe(String(Buffer.concat(body).length));
      const head = await send('/x', { method: 'HEAD' });
      expect([head.headers.get('content-length'), await head.text()]).toEqual([String(Buffer.concat(body).length), '']);
    }
  });

  test('returns for HEAD the length of GET and no body', async () => {
    const send = await mounted(() => ({ status: 200, headers: { etag: '"1"' }, body: 'twelve bytes' }));
    const response = await send('/x', { method: 'HEAD' });
    expect(response.headers.get('content-length')).toBe('12');
    expect(response.headers.get('etag')).toBe('"1"');
    expect(await response.text()).toBe('');
  });

  test('keeps the length that the API sets for HEAD', async () => {
    const send = await mounted(() => ({ status: 200, headers: { 'content-length': '7' } }));
    expect((await send('/x', { method: 'HEAD' })).headers.get('content-length')).toBe('7');
  });

  test('releases the stream of a HEAD request without reading it', async () => {
    const source = counted(10, 'chunk');
    const send = await mounted(() => ({ status: 200, headers: {}, body: source }));
    await (await send('/x', { method: 'HEAD' })).text();
    expect(source).toMatchObject({ pulled: 0, returned: 1 });
  });

  test.each([204, 304])('sends %i without body and length', async (status) => {
    const send = await mounted(() => ({ status, headers: { 'x-own': 'yes' } }));
    const response = await send('/x', { method: status === 204 ? 'OPTIONS' : 'GET' });
    expect(response.status).toBe(status);
    expect(response.headers.get('content-length')).toBeNull();
    expect(response.headers.get('x-own')).toBe('yes');
  });

  test('sends length 0 for a response without a body', async () => {
    const send = await mounted(() => ({ status: 200, headers: {} }));
    expect((await send('/x')).headers.get('content-length')).toBe('0');
  });

  test('passes a body with a length in chunks', async () => {
    const send = await mounted(echoed);
    expect(await (await send('/x', { method: 'POST', body: '{"a":1}' })).text()).toBe('chunks {"a":1}');
  });

  test('accepts a DELETE with a body', async () => {
    const send = await mounted(echoed);
    expect(await (await send('/x', { method: 'DELETE', body: '{"a":1}' })).text()).toBe('chunks {"a":1}');
  });

  test('passes a body of unknown length in chunks', async () => {
    const send = await mounted(echoed);
    const init = { method: 'POST', body: streamOf(['{"a"', ':1}']), duplex: 'half' as const };
    expect(await (await send('/x', init)).text()).toBe('chunks {"a":1}');
  });

  test.each(['GET', 'POST', 'DELETE'])('passes an empty body for %s without a body', async (method) => {
    const send = await mounted(echoed);
    expect(await (await send('/x', { method })).text()).toBe('none ');
  });

  test('sends the response of an API that stops reading the body', async () => {
    let read = 0;
    const send = await mounted(async ({ body }) => {
      if (body.type !== 'chunks') throw new Error(`chunks expected, not ${body.type}`);
      for await (const chunk of body.chunks) {
        read += chunk.length;
        if (read > 1000) break;
      }
      return { status: 413, headers: {}, body: 'too large' };
    });
    const response = await send('/x', { method: 'POST', body: new Uint8Array(10_000_000) });
    expect(response.status).toBe(413);
    expect(await response.text()).toBe('too large');
  });

  test('sends the response of an API that ignores a large body, and serves the next request', async () => {
    const send = await mounted(() => ({ status: 415, headers: {}, body: 'no' }));
    for (let i = 0; i < 3; i++) {
      const response = await send('/x', { method: 'POST', body: new Uint8Array(10_000_000) });
      expect([response.status, await response.text()]).toEqual([415, 'no']);
    }
  });

  test('sends a complete stream', async () => {
    const source = counted(1000, 'é'.repeat(1000));
    const send = await mounted(() => ({ status: 200, headers: { 'content-type': 'text/event-stream' }, body: source }));
    const response = await send('/x');
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(await response.text()).toBe('é'.repeat(1_000_000));
    expect(source).toMatchObject({ pulled: 1000, pending: 0 });
  });

  test('sends an empty response for an empty stream', async () => {
    const send = await mounted(() => ({ status: 200, headers: {}, body: counted(0, '') }));
    expect(await (await send('/x')).text()).toBe('');
  });

  test('pauses a stream while its reader stalls', async () => {
    const megabyte = 'x'.repeat(1_000_000);
    const source = counted(100, megabyte);
    const send = await mounted(({ path }) => ({ status: 200, headers: {}, body: path === '/x' ? source : 'pong' }));
    const response = await send('/x');
    // Each round trip uses the event loops of both sides. A mount without back-pressure reads everything within one
    // tick.
    let before = -1;
    while (before !== source.pulled) {
      before = source.pulled;
      for (let i = 0; i < 20; i++) await (await send('/ping')).text();
    }
    expect(source.pulled).toBeLessThan(100);
    expect((await response.text()).length).toBe(100_000_000);
    expect(source.pulled).toBe(100);
  });

  test('cancels a stream when its reader leaves, also while it waits', async () => {
    const source = silentAfter('first');
    let signal: AbortSignal | undefined;
    const send = await mounted((request) => {
      signal = request.signal;
      return { status: 200, headers: {}, body: source };
    });
    const client = new AbortController();
    const response = await send('/x', { signal: client.signal });
    const reader = response.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('first');
    expect(signal?.aborted).toBe(false);
    const rest = reader?.read();
    client.abort();
    // In process, where no client rejects the read, the stream ends.
    expect(
      await rest?.then(
        ({ done }) => done,
        () => true,
      ),
    ).toBe(true);
    await source.returned;
    expect(signal?.aborted).toBe(true);
  });

  test('aborts the connection when a stream fails', async () => {
    async function* failing() {
      yield 'first';
      throw new Error('the source is broken');
    }
    const send = await mounted(() => ({ status: 200, headers: {}, body: failing() }));
    await expect(send('/x').then((response) => response.text())).rejects.toThrow();
    expect((await send('/x')).status).toBe(200);
  });
});

describe.each(Object.entries(MOUNTS))('mount prefix of %s', (_, start) => {
  test.each(['/api/v1/version', '/', '/sepoliax/api/v1/version', '/sepoli', '/sepolia%2Fapi/v1/version'])(
    'leaves %s, which is outside the prefix /sepolia, to the host',
    async (path) => {
      const send = await start(
        { handle: async (request) => ({ status: 404, headers: {}, body: request.path }) },
        '/sepolia',
      );
      expect(await (await send(path)).text()).toBe(`/..${path}`);
    },
  );
});

test('fetch handler does not cancel an unread body, so that the socket survives until the response', async () => {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(1000)),
    cancel: () => {
      cancelled = true;
    },
  });
  const handle = fetchHandler({
    async handle(request) {
      if (request.body.type === 'chunks') for await (const chunk of request.body.chunks) if (chunk.length > 0) break;
      return { status: 413, headers: {}, body: 'too large' };
    },
  });
  const init = { method: 'POST', body, duplex: 'half' as const };
  expect((await handle(new Request('http://127.0.0.1/', init))).status).toBe(413);
  expect(cancelled).toBe(false);
});

test('fetch handler reports a body aborted by its client in every host', async () => {
  const client = new AbortController();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      client.abort();
      controller.error(new Error('ECONNRESET'));
    },
  });
  let outcome: unknown;
  const handle = fetchHandler({
    async handle(request) {
      try {
        if (request.body.type === 'chunks') for await (const chunk of request.body.chunks) void chunk;
      } catch (error) {
        outcome = { abortedBySignal: error === request.signal?.reason };
      }
      return { status: 200, headers: {}, body: 'unread' };
    },
  });
  const init = { method: 'POST', body, signal: client.signal, duplex: 'half' as const };
  await handle(new Request('http://127.0.0.1/', init));
  expect(outcome).toEqual({ abortedBySignal: true });
});

test.each([nodeHandler, fetchHandler])('rejects %o, which it does not support', (handler) => {
  const api: Api = { handle: async () => ({ status: 200, headers: {} }) };
  expect(() => handler(api, { prefix: 'sepolia' })).toThrow('must be a path');
  // The compiler rejects a misspelled option too.
  expect(() => handler(api, { prefx: '/sepolia' } as object)).toThrow('did you mean "prefix"?');
});

async function echoed({ body }: ApiRequest): Promise<ApiResponse> {
  const parts: Uint8Array[] = [];
  if (body.type === 'chunks') for await (const chunk of body.chunks) parts.push(chunk);
  return { status: 200, headers: {}, body: `${body.type} ${Buffer.concat(parts)}` };
}

function streamOf(parts: readonly string[]): ReadableStream<Uint8Array> {
  return new Blob([...parts]).stream();
}

/** A stream of `total` times `chunk` that counts the reads. */
function counted(total: number, chunk: string) {
  const source = {
    pulled: 0,
    pending: 0,
    returned: 0,
    [Symbol.asyncIterator]: (): AsyncIterator<string> => ({
      async next() {
        if (++source.pending > 1) throw new Error('a chunk was read before the previous one was delivered');
        await Promise.resolve();
        source.pending--;
        if (source.pulled === total) return { done: true, value: undefined };
        source.pulled++;
        return { done: false, value: chunk };
      },
      async return() {
        source.returned++;
        return { done: true, value: undefined };
      },
    }),
  };
  return source;
}

/** A stream with one chunk that never continues. `returned` resolves when it is released. */
function silentAfter(first: string) {
  let resolveReturned: () => void = () => {};
  let reads = 0;
  const returned = new Promise<void>((resolve) => {
    resolveReturned = resolve;
  });
  const iterator: AsyncIterator<string> = {
    next: () => (reads++ === 0 ? Promise.resolve({ done: false, value: first }) : new Promise(() => {})),
    async return() {
      resolveReturned();
      return { done: true, value: undefined };
    },
  };
  return { returned, [Symbol.asyncIterator]: () => iterator };
}

test.each([
  ['an event stream', events(), [0]],
  ['a response', '[]', []],
])('fetch mount on Bun does not limit the idle time of a response only if it is %s', async (_, body, limits) => {
  const set: number[] = [];
  const server = { timeout: (_request: Request, seconds: number) => set.push(seconds) };
  const handle = fetchHandler({ handle: async () => ({ status: 200, headers: {}, body }) });
  const response = await handle(new Request('http://127.0.0.1/api/v1/orders/stream'), server);
  await response.text();
  expect(set).toEqual(limits);
});

async function* events() {
  yield ': open\n\n';
}
