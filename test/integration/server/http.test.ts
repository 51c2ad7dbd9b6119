import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createConnectionLimit } from '../../../apps/server/http/connection-limit.ts';
import { createHardenedServer, type HardenedServer } from '../../../apps/server/http/hardened-server.ts';

const servers: HardenedServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close(0);
});

async function listening(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
  timeouts?: Parameters<typeof createHardenedServer>[1],
  admit?: Parameters<typeof createHardenedServer>[2],
) {
  const server = createHardenedServer(handler, timeouts, admit);
  servers.push(server);
  return { server, url: await server.listen(0, '127.0.0.1') };
}

const pong = (_: IncomingMessage, response: ServerResponse) => void response.end('pong');

/** Responds after the complete request, like routes that read a body. */
function pongAfterBody(request: IncomingMessage, response: ServerResponse): void {
  request.resume().on('error', () => {});
  request.once('end', () => response.end('pong'));
}

async function open(url: string) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const connection = { socket, received: '' };
  socket.setEncoding('utf8').on('data', (text: string) => {
    connection.received += text;
  });
  await once(socket, 'connect');
  return connection;
}

async function exchange(url: string, bytes: string): Promise<string> {
  const connection = await open(url);
  // A server that keeps the connection, as with a planted fault, would end the test after two minutes.
  connection.socket.setTimeout(10_000, () => connection.socket.destroy());
  connection.socket.write(bytes);
  await once(connection.socket, 'close');
  return connection.received;
}

/** Timeouts in milliseconds. */
const HASTE = {
  headersTimeout: 100,
  requestTimeout: 200,
  keepAliveTimeout: 100,
  connectionsCheckingInterval: 20,
  stalled: 400,
};

const CHUNKED = 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n';

describe('invalid HTTP', () => {
  test.each([
    ['noise', 'garbage\r\n\r\n', 'this is not HTTP'],
    ['TLS handshake', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000', 'this is not HTTP'],
    ['headers of 20 kB', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`, 'the headers are too large'],
    [
      'two content lengths',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
      'this is not HTTP',
    ],
    [
      'a length beside chunks, a smuggled request',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      'this is not HTTP',
    ],
    [
      'an invalid chunked body',
      'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n',
      'this is not HTTP',
    ],
    ['no Host header', 'GET / HTTP/1.1\r\n\r\n', 'the Host header is missing'],
    ['two Host headers', 'GET / HTTP/1.1\r\nhost: x\r\nHOST: y\r\n\r\n', 'the Host header is repeated'],
    ['the same Host twice', 'GET / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n', 'the Host header is repeated'],
  ])('%s is rejected in JSON and the connection is closed', async (_, bytes, description) => {
    const { url } = await listening(pongAfterBody);
    const [head = '', body = ''] = (await exchange(url, bytes)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(head.toLowerCase()).toContain('content-type: application/json');
    expect(head.toLowerCase()).toContain('connection: close');
    expect(head.toLowerCase()).toContain('access-control-allow-origin: *');
    expect(JSON.parse(body)).toEqual({ errorType: 'InvalidParameter', description });
  });

  test('HTTP/1.0 without a Host header is accepted', async () => {
    const { url } = await listening(pong);
    expect(await exchange(url, 'GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 .*pong$/s);
  });

  test.each([
    [
      'a body that follows',
      'POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n{}',
      [100, 200],
    ],
    [
      'a body that is withheld from a rejection',
      'POST /no HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n',
      [100, 404],
    ],
  ])('a request that expects 100 Continue, with %s, is responded to', async (_, request, statuses) => {
    const { url } = await listening((incoming, response) => {
      response.shouldKeepAlive = false;
      if (incoming.url === '/no') response.writeHead(404).end();
      else pongAfterBody(incoming, response);
    });
    const received = await exchange(url, request);
    expect([...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))).toEqual(statuses);
  });

  test('an unknown expectation is ignored', async () => {
    const { url } = await listening(pong);
    const request = 'GET / HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\nconnection: close\r\n\r\n';
    expect(await exchange(url, request)).toMatch(/^HTTP\/1\.1 200 .*pong$/s);
  });

  test.each(['GET', 'POST'])('a request of HTTP/2 for a %s is ignored, and its body is read', async (method) => {
    const { url } = await listening(pongAfterBody);
    const upgrade =
      'connection: upgrade, http2-settings, close\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQCAAAAAAIAAAAA';
    const [length, body] = method === 'POST' ? [2, '{}'] : [0, ''];
    const request = `${method} / HTTP/1.1\r\nhost: x\r\n${upgrade}\r\ncontent-length: ${length}\r\n\r\n${body}`;
    expect(await exchange(url, request)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('a response after the rejection of its body is not sent', async () => {
    const { url } = await listening((request, response) => {
      request.on('error', () => {});
      setTimeout(() => response.end('pong'), 20);
    });
    const request = 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n';
    expect((await exchange(url, request)).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400']);
  });

  test.each([
    ['a request behind "Connection: close"', 'connection: close\r\n', 'GET / HTTP/1.1\r\nhost: x\r\n\r\n', 1],
    ['noise behind "Connection: close"', 'connection: close\r\n', 'noise\r\n\r\n', 1],
    ['noise', '', 'noise\r\n\r\n', 1],
    ['an invalid request behind a second one', '', 'GET / HTTP/1.1\r\nhost: x\r\n\r\nGET / HTTP\r\n\r\n', 2],
    ['line ends', 'connection: close\r\n', '\r\n\r\n', 1],
    ['an invalid body of a second request', '', `${CHUNKED}\r\nzz\r\n`, 1],
    ['an invalid body of a third request', '', `GET / HTTP/1.1\r\nhost: x\r\n\r\n${CHUNKED}\r\nzz\r\n`, 2],
  ])('%s does not prevent the responses to complete requests', async (_, header, rest, responses) => {
    const { url } = await listening((request, response) => {
      setImmediate(() => pongAfterBody(request, response));
    });
    const received = await exchange(url, `GET / HTTP/1.1\r\nhost: x\r\n${header}\r\n${rest}`);
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(Array(responses).fill('HTTP/1.1 200'));
    expect(received.endsWith('pong')).toBe(true);
  });

  test.each([
    ['that ends', (socket: Socket) => void socket.end()],
    ['that stays', () => {}],
  ])('a request that was rejected before its body receives one response, with a connection %s', async (_, proceed) => {
    const { url } = await listening(pong, { ...HASTE, keepAliveTimeout: 10_000 });
    const connection = await open(url);
    connection.socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 20\r\n\r\n{');
    await once(connection.socket, 'data');
    proceed(connection.socket);
    await once(connection.socket, 'close');
    expect(connection.received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
  });

  test('all headers of a request are read', async () => {
    const { url } = await listening(({ headers }, response) => void response.end(headers['x-forwarded-for']));
    const headers = `X-Forwarded-For: a\r\n${'y:\r\n'.repeat(1500)}X-Forwarded-For: b\r\nConnection: close\r\n`;
    expect(await exchange(url, `GET / HTTP/1.1\r\nhost: x\r\n${headers}\r\n`)).toMatch(/a, b$/);
  });

  test('invalid bytes behind a running request cut the connection without a second response', async () => {
    const { url } = await listening((_, response) => void response.write('half'));
    expect(await exchange(url, 'GET / HTTP/1.1\r\nhost: x\r\n\r\ngarbage\r\n\r\n')).not.toContain('400');
  });
});

describe('client that is too slow loses its connection', () => {
  const LATE = 'the request did not arrive in time';

  test.each([
    ['in the middle of its headers', 'GET / HTTP/1.1\r\nhost: x\r\nx-slow', LATE],
    ['in the middle of its body', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{', LATE],
    ['in the middle of a chunk', 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{', LATE],
    ['before the first byte', '', undefined],
  ])('%s', async (_, bytes, description) => {
    const { url } = await listening(pongAfterBody, HASTE);
    const received = await exchange(url, bytes);
    if (description === undefined) expect(received).toBe('');
    else expect(JSON.parse(received.split('\r\n\r\n')[1] ?? '')).toMatchObject({ description });
  });

  test('after common proxies have closed it, so that no request meets its end', async () => {
    const { url } = await listening(pong);
    const [, seconds] = /timeout=(\d+)/.exec((await fetch(url)).headers.get('keep-alive') ?? '') ?? [];
    // Caddy keeps idle connections for two minutes, Traefik for 90 seconds, nginx for 60.
    expect(Number(seconds)).toBeGreaterThan(120);
  });

  test('while it sends single bytes', async () => {
    const { url } = await listening(pongAfterBody, HASTE);
    const { socket } = await open(url);
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n');
    const drip = setInterval(() => socket.write('x: y\r\n'), 10);
    socket.on('error', () => {});
    await once(socket, 'close');
    clearInterval(drip);
    expect(socket.closed).toBe(true);
  });

  test('between two requests, and when it does not read its response', async () => {
    const { url } = await listening(pong, HASTE);
    expect(await exchange(url, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n')).toMatch(/pong$/);
    const size = 100_000_000;
    let gone: () => void = () => {};
    const cut = new Promise<void>((resolve) => {
      gone = resolve;
    });
    const waiting = await listening((_, response) => {
      response.once('close', gone);
      response.end(Buffer.alloc(size));
    }, HASTE);
    const connection = await open(waiting.url);
    connection.socket.pause().write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await cut;
    connection.socket.on('error', () => {});
    await once(connection.socket.resume(), 'close');
    expect(connection.received.length).toBeLessThan(size);
  });
});

test.each([
  ['Authorization', 'authorization: Bearer a\r\nAuthorization: Bearer b\r\n'],
  ['Host', 'HOST: y\r\n'],
])('a repeated %s header is rejected', async (name, headers) => {
  const { url } = await listening(pong);
  const received = await exchange(url, `GET / HTTP/1.1\r\nhost: x\r\n${headers}\r\n`);
  expect(received).toMatch(/^HTTP\/1\.1 400 /);
  expect(received).toContain(`the ${name} header is repeated`);
});

describe('CONNECT', () => {
  test('is rejected in JSON with CORS headers and the connection is closed', async () => {
    const { url } = await listening(pong);
    const [head = '', body = ''] = (await exchange(url, 'CONNECT a:443 HTTP/1.1\r\nhost: a:443\r\n\r\nrest')).split(
      '\r\n\r\n',
    );
    expect(head).toMatch(/^HTTP\/1\.1 405 Method Not Allowed\r\n/);
    expect(head.toLowerCase()).toContain('access-control-allow-origin: *');
    expect(JSON.parse(body)).toEqual({ errorType: 'MethodNotAllowed', description: 'CONNECT is not supported' });
    expect(await responds(url)).toBe(true);
  });

  test('is rejected after the response to an earlier request', async () => {
    const { url } = await listening((_, response) => void setImmediate(() => response.end('pong')));
    const received = await exchange(
      url,
      'GET / HTTP/1.1\r\nhost: x\r\n\r\nCONNECT a:443 HTTP/1.1\r\nhost: a:443\r\n\r\n',
    );
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 405']);
  });
});

describe('connections of one client', () => {
  test('above 256 are closed, until others end', async () => {
    const { url } = await listening(pong, undefined, createConnectionLimit());
    const open256 = await Promise.all(Array.from({ length: 256 }, () => open(url)));
    const refused = await open(url);
    await once(refused.socket, 'close');
    expect(refused.received).toBe('');
    open256[0]?.socket.destroy();
    // The server notices the end asynchronously.
    for (;;) if (await responds(url)) break;
    for (const { socket } of open256) socket.destroy();
  });

  test('are not limited if they come from a trusted proxy, and follow the limit of streams', () => {
    const admit = createConnectionLimit(['10.0.0.0/8'], 200);
    const count = (address: string) => Array.from({ length: 500 }, () => admit(address)).filter(Boolean).length;
    expect([count('10.1.2.3'), count('203.0.113.1'), count('2001:db8::1')]).toEqual([500, 400, 400]);
    expect(admit('2001:db8::2')).toBeUndefined(); // the same /64
    expect(admit('203.0.113.2')).toBeDefined();
  });
});

async function responds(url: string): Promise<boolean> {
  const received = await exchange(url, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n').catch(() => '');
  return received.includes('pong');
}

describe('server shutdown', () => {
  test('closes idle connections and rejects new ones', async () => {
    const { server, url } = await listening(pong);
    const connection = await open(url);
    connection.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(connection.socket, 'data');
    await server.close(60_000);
    await expect(fetch(url)).rejects.toThrow();
  });

  test('completes a running request and then closes its connection', async () => {
    let answer: () => void = () => {};
    let arrived: () => void = () => {};
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const { server, url } = await listening((_, response) => {
      answer = () => void response.end('pong');
      arrived();
    });
    const response = fetch(url);
    await arrival;
    const closed = server.close(60_000);
    answer();
    expect(await (await response).text()).toBe('pong');
    expect((await response).headers.get('connection')).toBe('close');
    await closed;
  });

  test('does not truncate a response to a slow reader', async () => {
    const size = 50_000_000;
    const { server, url } = await listening((_, response) => void response.end(Buffer.alloc(size, 'x')));
    const response = await fetch(url);
    const closed = server.close(60_000);
    expect((await response.text()).length).toBe(size);
    await closed;
  });

  test('aborts connections after the timeout', async () => {
    const { server, url } = await listening((_, response) => void response.write('half'));
    const response = await fetch(url);
    await server.close(0);
    await expect(response.text()).rejects.toThrow();
  });
});
