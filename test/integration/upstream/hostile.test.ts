import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import type { Hex } from 'intentbook';
import { systemClock } from 'intentbook';
import { orderBookUpstream } from 'intentbook/upstream';
import { afterEach, describe, expect, test } from 'vitest';
import { SEPOLIA_DOMAIN } from '../../support/orders.ts';
import { createPublicShapes } from '../../support/upstream/public-shapes.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Writes the response to one request. The server closes the connection after it. */
type Respond = (socket: Socket, request: string) => Promise<void> | void;

/** Starts a server that responds with bytes. Returns its port and the requests that it has received. */
async function startRaw(respond: Respond, host = '127.0.0.1', create: () => Server = () => createServer()) {
  const server = create();
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  server.on(server instanceof Object && 'setSecureContext' in server ? 'secureConnection' : 'connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', async (chunk: Buffer) => {
      requests.push(String(chunk));
      await respond(socket, String(chunk));
      socket.end();
    });
  });
  server.listen(0, host);
  await once(server, 'listening');
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as { readonly port: number }).port, requests };
}

function connect(url: string, apiKey?: string) {
  const timeouts = { read: 2000, write: 2000 };
  const budget = { read: 1e6, write: 1e6, quote: 1e6 };
  const upstream = orderBookUpstream({ url, timeouts, budget, ...(apiKey === undefined ? {} : { apiKey }) });
  upstream.open({ ...SEPOLIA_DOMAIN, clock: { ...systemClock }, onCall: () => {} });
  closers.push(() => upstream.close());
  return upstream;
}

const UID: Hex = `0x${'ab'.repeat(56)}`;

/** Renders a response with the length of its body. */
const whole = (body: string | Buffer, headers = '', status = '200 OK') =>
  Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${headers}\r\n`),
    Buffer.from(body),
  ]);
const write =
  (...parts: (string | Buffer)[]): Respond =>
  (socket) => {
    for (const part of parts) socket.write(part);
  };

const slowly: Respond = async (socket) => {
  socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n');
  for (let i = 0; i < 200 && !socket.destroyed; i++) {
    socket.write(' ');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

/** The response of a host, with the result of a write and of a read. */
const CASES: readonly (readonly [string, Respond, string, string])[] = [
  ['a body that is not gzip', write(whole('not gzip', 'content-encoding: gzip\r\n')), 'unknown', 'failed'],
  [
    'a body of gzip that is cut',
    write(whole(gzipSync('[]'.padEnd(5000)).subarray(0, 12), 'content-encoding: gzip\r\n')),
    'unknown',
    'failed',
  ],
  [
    'a body of gzip that expands to 64 MB',
    write(whole(gzipSync(Buffer.alloc(64_000_000, ' ')), 'content-encoding: gzip\r\n')),
    'unknown',
    'failed',
  ],
  ['a body that arrives slowly', slowly, 'unknown', 'failed'],
  ['headers that do not end', write('HTTP/1.1 200 OK\r\nx-a: b\r\n'), 'unknown', 'failed'],
  ['headers of 100 kB', write(whole('[]', `x-a: ${'b'.repeat(100_000)}\r\n`)), 'unknown', 'failed'],
  ['no HTTP', write('SSH-2.0-OpenSSH_9.6\r\n'), 'unknown', 'failed'],
  ['the status 999', write(whole('[]', '', '999 Odd')), 'unknown', 'failed'],
  ['a body that is cut', write('HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n['), 'unknown', 'failed'],
  [
    'chunks that are cut',
    write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[]\r\n'),
    'unknown',
    'failed',
  ],
  ['the status 204', write('HTTP/1.1 204 No Content\r\n\r\n'), 'unknown', 'failed'],
  ['the status 205', write(whole('[]', '', '205 Reset Content')), 'unknown', 'failed'],
  ['10 MB of JSON', write(whole(`[${' '.repeat(10_000_000)}]`)), 'unknown', 'read'],
  ['40 MB of JSON', write(whole(`[${' '.repeat(40_000_000)}]`)), 'unknown', 'failed'],
  ['a million nested lists', write(whole(`${'['.repeat(1e6)}${']'.repeat(1e6)}`)), 'unknown', 'read'],
  ['HTTP/1.0 without a length', write('HTTP/1.0 200 OK\r\n\r\n[]'), 'unknown', 'read'],
  ['early hints', write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n', whole('[]')), 'unknown', 'read'],
  ['a byte order mark', write(whole('\ufeff[]')), 'unknown', 'read'],
  ['text that is not UTF-8', write(whole(Buffer.from([0x5b, 0xff, 0x5d]))), 'unknown', 'failed'],
];

describe('the outcome of an order, and of a read, with', () => {
  test.each(CASES)('%s', async (_, respond, written, read) => {
    const { port } = await startRaw(respond);
    expect(await connect(`http://127.0.0.1:${port}`).submitOrder({})).toMatchObject({ status: written });
    expect(await connect(`http://127.0.0.1:${port}`).getOrders([UID])).toMatchObject({ status: read });
  });
});

describe('a host with', () => {
  test.each(['301', '302', '303', '307', '308'])('a redirect %s to another host gets no key there', async (status) => {
    const other = await startRaw(write(whole('[]')));
    const location = `location: http://127.0.0.1:${other.port}/\r\n`;
    const { port, requests } = await startRaw(write(whole('', location, `${status} Moved`)));
    for (const call of ['submitOrder', 'cancelOrders'] as const)
      expect(await connect(`http://127.0.0.1:${port}`, 'a-key')[call]({})).toMatchObject({ status: 'blocked' });
    expect(await connect(`http://127.0.0.1:${port}`, 'a-key').getOrders([UID])).toMatchObject({ status: 'blocked' });
    expect(requests.filter((request) => /x-api-key: a-key/i.test(request))).toHaveLength(3);
    expect(other.requests).toEqual([]);
  });

  test('UIDs in upper case, and members that come twice, is read', async () => {
    const { order } = await createPublicShapes();
    const text = JSON.stringify([{ order: { ...order, uid: `0x${order.uid.slice(2).toUpperCase()}` } }]);
    const twice = text.replace('"status":', '"status":"frozen","status":');
    const { port } = await startRaw((socket, request) => {
      socket.write(whole(request.includes('by_uids') ? twice : JSON.stringify(UID.toUpperCase().replace('0X', '0x'))));
    });
    expect(await connect(`http://127.0.0.1:${port}`).submitOrder({})).toEqual({ status: 'accepted', uid: UID });
    expect(await connect(`http://127.0.0.1:${port}`).getOrders([order.uid as Hex])).toMatchObject({
      status: 'read',
      value: [{ uid: order.uid, status: order.status }],
    });
  });

  test('an IPv6 address only is read', async () => {
    const { port } = await startRaw(write(whole('[]')), '::1');
    expect(await connect(`http://[::1]:${port}`).getOrders([UID])).toMatchObject({
      status: 'read',
      host: `[::1]:${port}`,
    });
  });

  test('a certificate that is not valid receives no order', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'intentbook-test-'));
    closers.push(() => rmSync(folder, { recursive: true }));
    const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
    const options = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', '-days', '1'];
    execFileSync('openssl', [...options, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    const create = () => createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) });
    const { port, requests } = await startRaw(write(whole('[]')), '127.0.0.1', create);
    const upstream = connect(`https://127.0.0.1:${port}`);
    expect(await upstream.submitOrder({})).toMatchObject({ status: 'blocked' });
    expect(await upstream.getOrders([UID])).toMatchObject({ status: 'blocked' });
    expect(requests).toEqual([]);
  });

  test('no TLS is reported with the code of the connection', async () => {
    const { port } = await startRaw(write('HTTP/1.1 400 Bad Request\r\n\r\n'));
    // The same code may come after the request was sent, so it proves nothing.
    expect(await connect(`https://127.0.0.1:${port}`).submitOrder({})).toEqual({
      status: 'unknown',
      reason: 'no response: ERR_SSL_WRONG_VERSION_NUMBER',
    });
  });
});
