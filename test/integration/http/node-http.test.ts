import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect as connectHttp2, constants, createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from 'node:net';
import type { Api, ApiRequest, ApiResponse } from 'intentbook';
import { type NodeRequestLike, nodeHandler } from 'intentbook/node-http';
import { afterEach, describe, expect, test } from 'vitest';

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

const closing: (() => void)[] = [];
const failures: unknown[] = [];
process.on('unhandledRejection', (failure) => failures.push(failure));
process.on('uncaughtExceptionMonitor', (failure) => failures.push(failure));
afterEach(() => {
  for (const close of closing.splice(0)) close();
  expect(failures).toEqual([]);
});

async function listening(listener: Listener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port; // a listening server has an address
}

const apiOf = (answer: (request: ApiRequest) => Promise<ApiResponse> | ApiResponse): Api => ({
  handle: async (request) => answer(request),
});

const bodyEcho = nodeHandler(
  apiOf(async ({ body }) => {
    if (body.type === 'none') return { status: 200, headers: {}, body: 'none' };
    if (body.type === 'parsed') return { status: 200, headers: {}, body: `parsed ${JSON.stringify(body.value)}` };
    if (body.type === 'bytes') return { status: 200, headers: {}, body: `bytes ${body.bytes}` };
    const parts: Uint8Array[] = [];
    try {
      for await (const chunk of body.chunks) parts.push(chunk);
    } catch {
      return { status: 200, headers: {}, body: 'consumed' };
    }
    return { status: 200, headers: {}, body: `chunks ${Buffer.concat(parts)}` };
  }),
);

const fail = (failure: unknown) => void failures.push(failure);

/** Reads a request completely, like a body parser. */
async function consumed(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of request) parts.push(chunk);
  return Buffer.concat(parts).toString();
}

describe('node:http handler after the host has read the body', () => {
  const PARSERS: Readonly<Record<string, { parse(text: string): unknown; seen: string }>> = {
    'parsed JSON': { parse: (text) => JSON.parse(text), seen: 'parsed {"a":1}' },
    'parsed JSON that is falsy': { parse: () => null, seen: 'parsed null' },
    'a Buffer': { parse: (text) => Buffer.from(text), seen: 'bytes {"a":1}' },
    'a string': { parse: (text) => text, seen: 'bytes {"a":1}' },
    nothing: { parse: () => undefined, seen: 'consumed' },
  };
  test.each(Object.entries(PARSERS))('serves a request that has %s', async (_, { parse, seen }) => {
    const port = await listening((request: NodeRequestLike, response) => {
      consumed(request).then((text) => bodyEcho(Object.assign(request, { body: parse(text) }), response), fail);
    });
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{"a":1}' });
    expect(await response.text()).toBe(seen);
  });

  test('serves a request with {} left unread because of its type', async () => {
    const port = await listening((request, response) => bodyEcho(Object.assign(request, { body: {} }), response));
    const url = `http://127.0.0.1:${port}/`;
    expect(await (await fetch(url, { method: 'POST', body: '{"a":1}' })).text()).toBe('chunks {"a":1}');
    expect(await (await fetch(url)).text()).toBe('none');
  });

  test('serves a request whose stream was drained', async () => {
    const port = await listening((request, response) => {
      request.resume().on('end', () => bodyEcho(request, response));
    });
    expect(await (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'x' })).text()).toBe('consumed');
  });
});

describe('node:http handler with next', () => {
  test('passes requests outside the prefix on, untouched', async () => {
    const handler = nodeHandler(
      apiOf(() => ({ status: 200, headers: {}, body: 'ours' })),
      { prefix: '/sepolia' },
    );
    const port = await listening((request, response) => handler(request, response, () => response.end('theirs')));
    const base = `http://127.0.0.1:${port}`;
    expect(await (await fetch(`${base}/sepolia/api/v1/version`)).text()).toBe('ours');
    expect(await (await fetch(`${base}/sepolia`)).text()).toBe('ours');
    expect(await (await fetch(`${base}/sepolias`)).text()).toBe('theirs');
    expect(await (await fetch(`${base}/`)).text()).toBe('theirs');
  });

  test('passes the failure of an API that violates its interface', async () => {
    const handler = nodeHandler(apiOf(() => Promise.reject(new Error('broken'))));
    const port = await listening((request, response) =>
      handler(request, response, (error) => response.end(`host: ${error}`)),
    );
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('host: Error: broken');
  });
});

test('node:http handler without next cuts the connection of an API that violates its interface', async () => {
  const port = await listening(nodeHandler(apiOf(() => Promise.reject(new Error('broken')))));
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
});

test('node:http handler reports an invalid header as a failure', async () => {
  const port = await listening(nodeHandler(apiOf(() => ({ status: 200, headers: { 'x-bad': 'a\nb' }, body: '' }))));
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
});

test('node:http handler keeps headers set by the host', async () => {
  const handler = nodeHandler(apiOf(() => ({ status: 200, headers: { 'x-ours': '1' }, body: '' })));
  const port = await listening((request, response) => {
    response.setHeader('x-theirs', '2');
    handler(request, response);
  });
  const { headers } = await fetch(`http://127.0.0.1:${port}/`);
  expect([headers.get('x-ours'), headers.get('x-theirs')]).toEqual(['1', '2']);
});

test('node:http handler keeps a response that the host has already sent', async () => {
  let returned = 0;
  const body: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => ({
      next: async () => ({ done: true, value: undefined }),
      return: async () => {
        returned++;
        return { done: true, value: undefined };
      },
    }),
  };
  let finish: () => void = () => {};
  const late = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let served: Promise<void> | undefined;
  const handler = nodeHandler({
    handle: (request) => {
      served = late.then(() => void request);
      return late.then(() => ({ status: 200, headers: {}, body }));
    },
  });
  const port = await listening((request, response) => {
    handler(request, response);
    response.writeHead(503).end('timed out');
  });
  const response = await fetch(`http://127.0.0.1:${port}/`);
  expect([response.status, await response.text()]).toEqual([503, 'timed out']);
  finish();
  await served;
  await fetch(`http://127.0.0.1:${port}/`).then((next) => next.text());
  expect(returned).toBeGreaterThan(0);
});

/** A connection for raw bytes; `received` grows with the responses. */
async function rawConnection(port: number) {
  const socket = connect(port, '127.0.0.1');
  closing.push(() => socket.destroy());
  await once(socket, 'connect');
  const connection = { socket, received: '' };
  socket.setEncoding('utf8').on('data', (text: string) => {
    connection.received += text;
  });
  return connection;
}

async function until(socket: Socket, condition: () => boolean): Promise<void> {
  while (!condition()) await once(socket, 'data');
}

test.each([
  ['a body', 'done'],
  ['a stream', (async function* () {})()],
])('node:http handler ends the connection with %s that it sends after the server was closed', async (_, body) => {
  const server = createServer(
    nodeHandler(
      apiOf(async () => {
        server.close();
        return { status: 200, headers: {}, body };
      }),
    ),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a listening server has an address
  const { headers } = await fetch(`http://127.0.0.1:${port}/`);
  expect(headers.get('connection')).toBe('close');
});

test('node:http handler ends a session of HTTP/2 after its response when the server was closed', async () => {
  const handler = nodeHandler(
    apiOf(async () => {
      server.close();
      return { status: 200, headers: {}, body: 'done' };
    }),
  );
  const server = createHttp2Server(handler as unknown as Parameters<typeof createHttp2Server>[1]);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  closing.push(() => session.destroy());
  const ended = once(session, 'close');
  let received = '';
  const request = session.request({ ':path': '/' });
  request.setEncoding('utf8').on('data', (text: string) => {
    received += text;
  });
  request.end();
  await Promise.all([once(request, 'close'), ended]);
  expect(received).toBe('done');
});

test('node:http handler keeps the connections that are passed to a server that does not listen', async () => {
  const server = createServer(nodeHandler(apiOf(async () => ({ status: 200, headers: {}, body: 'done' }))));
  const listener = createNetServer((socket) => server.emit('connection', socket)).listen(0, '127.0.0.1');
  closing.push(() => listener.close());
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo; // a listening server has an address
  const connection = await rawConnection(port);
  for (const count of [1, 2]) {
    connection.socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(connection.socket, () => connection.received.split('done').length > count);
  }
  expect(connection.received).not.toContain('Connection: close');
});

test('node:http handler responds to pipelined requests in order on one connection', async () => {
  const slowFirst = nodeHandler(
    apiOf(async ({ path }) => {
      if (path === '/0') await new Promise((resolve) => setImmediate(resolve));
      return { status: 200, headers: {}, body: `<${path}>` };
    }),
  );
  const { socket, received } = await pipelined(await listening(slowFirst), 100);
  expect([...received.matchAll(/<\/(\d+)>/g)].map(([, n]) => Number(n))).toEqual(
    Array.from({ length: 100 }, (_, i) => i),
  );
  expect(socket.destroyed).toBe(false);
});

async function pipelined(port: number, count: number) {
  const connection = await rawConnection(port);
  const requests = Array.from({ length: count }, (_, i) => `GET /${i} HTTP/1.1\r\nhost: x\r\n\r\n`);
  connection.socket.write(requests.join(''));
  await until(connection.socket, () => connection.received.includes(`</${count - 1}>`));
  return connection;
}

test('node:http handler cancels every pipelined stream when the client leaves, including waiting ones', async () => {
  const signals: AbortSignal[] = [];
  let returned = 0;
  let resolveOutcome: () => void = () => {};
  const all = new Promise<void>((resolve) => {
    resolveOutcome = resolve;
  });
  const body: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => {
      let first = true;
      return {
        next: () => {
          if (!first) return new Promise(() => {});
          first = false;
          return Promise.resolve({ done: false, value: 'data: 1\n\n' });
        },
        return: async () => {
          if (++returned === 20) resolveOutcome();
          return { done: true, value: undefined };
        },
      };
    },
  };
  const api = apiOf(({ signal }) => {
    if (signal !== undefined) signals.push(signal);
    return { status: 200, headers: {}, body };
  });
  const warnings: Error[] = [];
  process.on('warning', (warning) => warnings.push(warning));
  const { socket } = await rawConnection(await listening(nodeHandler(api)));
  socket.write('GET /stream HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(20));
  await once(socket, 'data');
  socket.destroy();
  await all;
  expect(signals.map((signal) => signal.aborted)).toEqual(Array(20).fill(true));
  expect(warnings).toEqual([]);
});

test('node:http handler does not abort the signal after a complete response', async () => {
  const signals: (AbortSignal | undefined)[] = [];
  const port = await listening(
    nodeHandler(
      apiOf(({ signal }) => {
        signals.push(signal);
        return { status: 200, headers: {}, body: 'whole' };
      }),
    ),
  );
  const { socket } = await rawConnection(port);
  socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  await once(socket, 'close');
  await fetch(`http://127.0.0.1:${port}/`).then((response) => response.text());
  expect(signals[0]?.aborted).toBe(false);
});

describe('node:http handler with an unread body', () => {
  const rejecting = nodeHandler(apiOf(() => ({ status: 413, headers: {}, body: 'too large' })));

  const leavingOff = nodeHandler(
    apiOf(async ({ body }) => {
      if (body.type === 'chunks') for await (const chunk of body.chunks) if (chunk.length > 0) break;
      return { status: 413, headers: {}, body: 'too large' };
    }),
  );

  test.each([
    ['unread', rejecting],
    ['partly read', leavingOff],
  ])('large and %s: sends the response, discards the rest, then closes the connection', async (_, handler) => {
    const connection = await rawConnection(await listening(handler));
    const { socket } = connection;
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10000004\r\n\r\nbody');
    await until(socket, () => connection.received.endsWith('too large'));
    expect(connection.received).toMatch(/^HTTP\/1\.1 413 .*\r\nconnection: close\r\n/is);
    socket.write(Buffer.alloc(10_000_000));
    await once(socket, 'end');
    expect(connection.received.match(/HTTP/g)).toHaveLength(1);
  });

  test('endless: cuts the connection after a limit', async () => {
    const { socket } = await rawConnection(await listening(rejecting));
    socket.on('error', () => {});
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
    const megabyte = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(0x100000), Buffer.from('\r\n')]);
    let sent = 0;
    while (!socket.closed && sent < 1000) {
      sent++;
      await new Promise((resolve) => socket.write(megabyte, resolve));
    }
    expect(sent).toBeLessThan(1000);
  });

  test('large, on several connections: one by one, so that a short one does not wait for long ones', async () => {
    const port = await listening(rejecting);
    const ended: string[] = [];
    /** Waits for the response. The result has the end of the connection. */
    const upload = async (name: string, size: number) => {
      const { socket } = await rawConnection(port);
      socket.on('error', () => {});
      socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${size}\r\n\r\n`);
      socket.write(Buffer.alloc(size));
      await once(socket, 'data');
      return { end: once(socket, 'end').then(() => void ended.push(name)) };
    };
    const long = await Promise.all(Array.from({ length: 12 }, () => upload('long', 1_000_000)));
    const short = await upload('short', 130_000);
    await Promise.all([...long, short].map(({ end }) => end));
    expect(ended.indexOf('short')).toBeLessThan(3);
  });

  test('small: keeps the connection', async () => {
    const connection = await rawConnection(await listening(rejecting));
    const request = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n';
    for (const count of [1, 2, 3]) {
      connection.socket.write(request + 'x'.repeat(1000));
      await until(connection.socket, () => connection.received.split('too large').length > count);
    }
    expect(connection.received).not.toMatch(/connection: close/i);
  });

  test('of unknown length: sends a stream, and releases it when the client leaves', async () => {
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let sent = false;
    const body: AsyncIterable<string> = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          if (sent) return new Promise(() => {});
          sent = true;
          return Promise.resolve({ done: false, value: 'data: 1\n\n' });
        },
        return: async () => {
          release();
          return { done: true, value: undefined };
        },
      }),
    };
    const connection = await rawConnection(
      await listening(nodeHandler(apiOf(() => ({ status: 200, headers: {}, body })))),
    );
    connection.socket.write('GET / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n');
    await until(connection.socket, () => connection.received.includes('data: 1\n\n'));
    connection.socket.write('1\r\ny\r\n0\r\n\r\n', () => connection.socket.destroy());
    await expect(released).resolves.toBeUndefined();
  });

  test('HEAD: sends no body', async () => {
    const connection = await rawConnection(await listening(rejecting));
    connection.socket.write('HEAD / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n');
    await until(connection.socket, () => connection.received.endsWith('\r\n\r\n'));
    connection.socket.end(Buffer.alloc(100_000));
    await once(connection.socket, 'close');
    expect(connection.received).toMatch(/\r\ncontent-length: 9\r\n.*\r\n\r\n$/is);
  });
});

test('node:http handler survives a client that leaves in the middle of its body', async () => {
  let signal: AbortSignal | undefined;
  let resolveOutcome: (outcome: unknown) => void = () => {};
  const outcome = new Promise<unknown>((resolve) => {
    resolveOutcome = resolve;
  });
  const api = apiOf(async (request) => {
    signal = request.signal;
    if (request.body.type === 'chunks') {
      try {
        for await (const chunk of request.body.chunks) void chunk;
        resolveOutcome('read to its end');
      } catch (error) {
        resolveOutcome(error);
      }
    }
    return { status: 200, headers: {}, body: 'unread' };
  });
  const port = await listening(nodeHandler(api));
  const { socket } = await rawConnection(port);
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nhalf', () => socket.destroy());
  expect(await outcome).toBe(signal?.reason);
  expect(signal?.aborted).toBe(true);
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
});

test.each([
  ['GET http://book.example/api/v1/version?a=1 HTTP/1.1', '/api/v1/version a=1'],
  ['GET http://book.example HTTP/1.1', '/ '],
  ['GET http://book.example?a=1 HTTP/1.1', '/ a=1'],
  ['OPTIONS * HTTP/1.1', '/..* '],
])('node:http handler accepts %s', async (line, seen) => {
  const echo = nodeHandler(apiOf(({ path, query }) => ({ status: 200, headers: {}, body: `<${path} ${query}>` })));
  const connection = await rawConnection(await listening(echo));
  connection.socket.write(`${line}\r\nhost: x\r\n\r\n`);
  await until(connection.socket, () => connection.received.endsWith('>'));
  expect(connection.received).toContain(`<${seen}>`);
});

test('node:http handler passes the client address on', async () => {
  const port = await listening(
    nodeHandler(apiOf(({ remoteAddress }) => ({ status: 200, headers: {}, body: String(remoteAddress) }))),
  );
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('127.0.0.1');
});

test('node:http handler serves HTTP/2 through the compatibility interface of Node.js', async () => {
  // The compatibility interface is a drop-in replacement; its types do not declare that.
  const server = createHttp2Server(bodyEcho as unknown as Parameters<typeof createHttp2Server>[1]);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A listening server has an address.
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  closing.push(() => {
    session.destroy();
    server.close();
  });
  const stream = session.request({ ':method': 'POST', ':path': '/' });
  stream.end('{"a":1}');
  let text = '';
  for await (const chunk of stream.setEncoding('utf8')) text += chunk;
  expect(text).toBe('chunks {"a":1}');
});

test.each(['stream', 'session'])('node:http handler ends a body of HTTP/2 whose %s is cut', async (part) => {
  let request: ApiRequest | undefined;
  let [sent, left] = [0, 0];
  const body: AsyncIterator<string> = {
    next: () => (sent++ === 0 ? Promise.resolve({ value: 'x', done: false }) : new Promise(() => {})),
    async return() {
      left++;
      return { done: true, value: undefined };
    },
  };
  const handler = nodeHandler(
    apiOf((each) => {
      request = each;
      return { status: 200, headers: {}, body: { [Symbol.asyncIterator]: () => body } };
    }),
  );
  // As above.
  const server = createHttp2Server(handler as unknown as Parameters<typeof createHttp2Server>[1]);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A listening server has an address.
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  closing.push(() => {
    session.destroy();
    server.close();
  });
  const stream = session.request({ ':path': '/' });
  stream.on('error', () => {});
  await once(stream, 'data');
  if (part === 'stream') stream.close(constants.NGHTTP2_CANCEL);
  else session.destroy();
  await expect.poll(() => left, { timeout: 5_000 }).toBe(1);
  expect([request?.aborted, request?.signal?.aborted]).toEqual([true, true]);
});
