import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient, type OrderBookClient } from 'intentbook/client';
import { describe, expect, it, onTestFinished } from 'vitest';

const owner = `0x${'12'.repeat(20)}`;

async function listen(handle: RequestListener): Promise<string> {
  const server = createServer(handle).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('URL of a client', () => {
  it.each([
    ['http://user:p%40ss@localhost:8080/book/', 'http://localhost:8080/book/api/v1/orders/0x12', 'user:p@ss'],
    ['http://user:50%@localhost', 'http://localhost/api/v1/orders/0x12', 'user:50%'],
    ['https://localhost', 'https://localhost/api/v1/orders/0x12', undefined],
    ['/book', '/book/api/v1/orders/0x12', undefined],
    ['', '/api/v1/orders/0x12', undefined],
  ])('%s requests %s', async (url, expected, credentials) => {
    const requests: unknown[] = [];
    const client = createClient(url, {
      async fetch(target, init) {
        requests.push([target, new Headers(init?.headers).get('authorization') ?? undefined]);
        return Response.json({});
      },
    });
    await client.get('0x12');
    expect(requests).toEqual([[expected, credentials && `Basic ${btoa(credentials)}`]]);
  });

  it('does not replace the authorization of the headers', async () => {
    const sent: unknown[] = [];
    const client = createClient('http://user:password@localhost', {
      headers: { Authorization: 'Bearer token' },
      async fetch(_, init) {
        sent.push(new Headers(init?.headers).get('authorization'));
        return Response.json({});
      },
    });
    await client.get('0x12');
    expect(sent).toEqual(['Bearer token']);
  });

  it.each([
    ['of a proxy', new Response('<h1>Not found</h1>', { status: 404 })],
    ['of a proxy with JSON', Response.json({ error: 'not found' }, { status: 404 })],
    [
      'of another path of the server',
      Response.json(
        { errorType: 'NotFound', description: 'there is no such route', data: { path: '/x/api/v1/orders/0x12' } },
        { status: 404 },
      ),
    ],
  ])('does not turn the 404 %s into an unknown order', async (_, response) => {
    const client = createClient('http://localhost', { fetch: async () => response });
    await expect(client.get('0x12')).rejects.toMatchObject({ name: 'RequestError', status: 404 });
  });

  it.each([
    { errorType: 'NotFound', description: 'there is no order with this UID', data: { uid: '0x12' } },
    { errorType: 'NotFound', description: 'Order was not found' },
  ])('leads to undefined for an unknown order: %j', async (body) => {
    const client = createClient('http://localhost', { fetch: async () => Response.json(body, { status: 404 }) });
    expect(await client.get('0x12')).toBeUndefined();
  });

  it.each(['http://localhost/api/v1', 'https://localhost/mainnet/api/v1/'])('is that of the book: %s', (url) => {
    const message = 'createClient: url must end before "/api/v1"';
    expect(() => createClient(url)).toThrow(new TypeError(message));
  });

  it.each(['http://localhost/?key=secret', 'https://localhost/book?', '/book#top'])('must have no query: %s', (url) => {
    expect(() => createClient(url)).toThrow(new TypeError('createClient: url must have no query or fragment'));
  });

  it.each([
    ['localhost:8080', 'localhost:8080'],
    ['127.0.0.1:8080/secret', '127.0.0.1:8080…'],
    ['ftp://user:secret@host/secret', '…host…'],
    ['user:secret@host', '…host'],
    ['book.example?key=secret', 'book.example…'],
    [undefined, 'undefined'],
    [8080, '8080'],
    [{ url: 'http://localhost' }, 'an object'],
    [new URL('http://localhost'), 'an object'],
    [[], 'an object'],
  ])('must not be %s', (url, shown) => {
    const create = () => createClient(url as string);
    expect(create).toThrow(new TypeError(`createClient: url must be an http or https URL, got ${shown}`));
  });
});

describe('client without a server', () => {
  it('names the address without the query and the credentials', async () => {
    const client = createClient('http://user:secret@127.0.0.1:1');
    const error = await client.list({ owner: '0x12' }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      message: expect.stringMatching(/^http:\/\/127\.0\.0\.1:1\/api\/v1\/orders cannot be reached: ./),
      cause: expect.any(TypeError),
    });
    expect(String(error)).not.toContain('secret');
  });

  it('names the reason of the first of several addresses', async () => {
    const refused = new AggregateError([new Error('connect ECONNREFUSED ::1:1'), new Error('connect ECONNREFUSED')]);
    const client = createClient('http://localhost:1', {
      fetch: async () => {
        throw new TypeError('fetch failed', { cause: refused });
      },
    });
    await expect(client.list()).rejects.toThrow(/cannot be reached: connect ECONNREFUSED ::1:1$/);
  });
});

describe('client of a server that redirects', () => {
  const methods = {
    submit: (client: OrderBookClient) => client.submit({} as Parameters<OrderBookClient['submit']>[0]),
    cancel: (client: OrderBookClient) => client.cancel({ orderUids: [], signature: '0x', signingScheme: 'eip712' }),
    get: (client: OrderBookClient) => client.get('0x12'),
    list: (client: OrderBookClient) => client.list(),
    mirror: (client: OrderBookClient) => client.mirror({ owner: '0x12' }, { signal: AbortSignal.timeout(5000) }),
    notifications: async (client: OrderBookClient) => {
      for await (const _ of client.account(owner).notifications.stream()) break;
    },
  };

  it.each(Object.keys(methods).flatMap((name) => [301, 302, 303, 307, 308].map((status) => [name, status] as const)))(
    '%s with %d does not follow, and sends no header to another host',
    async (name, status) => {
      const requests: (string | undefined)[] = [];
      const other = await listen((request, response) => {
        requests.push(request.url);
        response.setHeader('content-type', 'application/json').end('[]');
      });
      const server = await listen((request, response) => {
        response.writeHead(status, { location: `${other}${request.url}` }).end();
      });
      const client = createClient(server, { headers: { 'x-api-key': 'secret' } });
      const error = await methods[name as keyof typeof methods](client).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ name: 'RequestError', status, retryable: false });
      expect(String(error)).toContain(`the server redirects to ${other}/`);
      expect(requests).toEqual([]);
    },
  );

  it('fails in a browser too, which hides the target', async () => {
    const client = createClient('http://localhost', { fetch: async () => Response.error() });
    await expect(client.mirror({ owner: '0x12' })).rejects.toMatchObject({ status: 0 });
  });
});
