import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import type { LookupAddress } from 'node:dns';
import { getEventListeners, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'vitest';
import { createAddressGuard, createNameResolver, post } from '../../../adapters/channels/http-post.ts';

/** Type of a question for IPv4 addresses, and the code of a response for a name that does not exist. */
const A = 1;
const NAME_ERROR = 3;

/** Starts a DNS server on UDP. It does not respond to a name without an entry. */
async function dnsServer(entries: Readonly<Record<string, { ipv4?: string; isMissing?: boolean }>>) {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (query, { port, address }) => {
    const [name, end] = readName(query);
    asked.push(name);
    const entry = entries[name];
    if (entry === undefined) return;
    const question = query.subarray(12, end + 4);
    const isAnswered = query.readUInt16BE(end) === A && entry.ipv4 !== undefined;
    const header = Buffer.alloc(12);
    header.writeUInt16BE(query.readUInt16BE(0), 0);
    header.writeUInt16BE(0x8180 | (entry.isMissing === true ? NAME_ERROR : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(isAnswered ? 1 : 0, 6);
    const bytes = (entry.ipv4 ?? '').split('.').map(Number);
    const answer = isAnswered ? Buffer.from([0xc0, 12, 0, A, 0, 1, 0, 0, 0, 60, 0, 4, ...bytes]) : Buffer.alloc(0);
    socket.send(Buffer.concat([header, question, answer]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    servers: [`127.0.0.1:${socket.address().port}`],
    asked,
    [Symbol.asyncDispose]: async () => void socket.close(),
  };
}

/** Reads the name of the question, and the end of it. */
function readName(query: Buffer): [name: string, end: number] {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return [labels.join('.').toLowerCase(), at + 1];
}

const resolveName = (hostname: string, options: Parameters<typeof createNameResolver>[0]) =>
  new Promise<LookupAddress[]>((resolve, reject) => {
    createNameResolver(options)(hostname, { all: true }, (error, addresses) =>
      error === null ? resolve(addresses) : reject(error),
    );
  });

describe('resolver of untrusted names', () => {
  test('returns the addresses of a name, and keeps no listener', async () => {
    await using dns = await dnsServer({ 'hooks.example.org': { ipv4: '93.184.216.34' } });
    const { signal } = new AbortController();
    const found = await resolveName('hooks.example.org', { signal, servers: dns.servers });
    assert.deepEqual(found, [{ address: '93.184.216.34', family: 4 }]);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  test('rejects a name that does not exist', async () => {
    await using dns = await dnsServer({ 'hooks.example.org': { isMissing: true } });
    const { signal } = new AbortController();
    await assert.rejects(resolveName('hooks.example.org', { signal, servers: dns.servers }), { code: 'ENOTFOUND' });
  });

  test('ends when it is aborted, although the DNS server does not respond', async () => {
    await using dns = await dnsServer({});
    const controller = new AbortController();
    const pending = resolveName('hooks.example.org', { signal: controller.signal, servers: dns.servers });
    setTimeout(() => controller.abort(), 20);
    await assert.rejects(pending, { code: 'ECANCELLED' });
  });

  test('requests no DNS server for a name of the local network', async () => {
    await using dns = await dnsServer({});
    const { signal } = new AbortController();
    for (const name of ['localhost', 'localhost.']) {
      const found = await resolveName(name, { signal, servers: dns.servers }).catch(() => []);
      for (const { address } of found) assert.match(address, /^(127\.0\.0\.1|::1)$/);
    }
    assert.deepEqual(dns.asked, []);
  });

  test('leads a request to the addresses that the guard allows', async () => {
    await using dns = await dnsServer({ 'hooks.example.org': { ipv4: '127.0.0.1' } });
    const server = createServer((_, response) => response.end('received')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // a listening server has an address
    const signal = AbortSignal.timeout(5000);
    const resolve = createNameResolver({ signal, servers: dns.servers });
    const url = `http://hooks.example.org:${port}/`;
    const request = { url, headers: {}, body: '', signal, resolve, expected: 'received' };
    await assert.rejects(post({ ...request, guard: createAddressGuard([], 'test') }), /not on the public internet/);
    const posted = await post({ ...request, guard: createAddressGuard(['127.0.0.0/8'], 'test') });
    assert.deepEqual([posted.status, posted.body], [200, 'received']);
    server.close();
  });
});
