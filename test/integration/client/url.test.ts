import { createClient } from 'intentbook/client';
import { describe, expect, it } from 'vitest';

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
    const message = 'createClient: url must be that of the book, without "/api/v1"';
    expect(() => createClient(url)).toThrow(new TypeError(message));
  });

  it.each(['http://localhost/?key=secret', 'https://localhost/book?', '/book#top'])('must have no query: %s', (url) => {
    expect(() => createClient(url)).toThrow(new TypeError('createClient: url must have no query and no fragment'));
  });

  it.each(['localhost:8080', '127.0.0.1:8080', 'ftp://user:secret@host', 'book.example', undefined])(
    'must not be %s',
    (url) => {
      const create = () => createClient(url as string);
      expect(create).toThrow(new TypeError('createClient: url must be an http or https URL'));
    },
  );
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
});
