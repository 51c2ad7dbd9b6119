import dns from 'node:dns';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Hex, systemClock } from 'intentbook';
import { orderBookUpstream } from 'intentbook/upstream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { SEPOLIA_DOMAIN } from '../../support/orders.ts';

const NAME = 'book.example';
const UID: Hex = `0x${'1b'.repeat(56)}`;

/** Serves an empty list at an address, until it is closed, or hangs. */
async function serve(host: string, port = 0) {
  let isHanging = false;
  let count = 0;
  const server = createServer((_, response) => {
    count++;
    if (!isHanging) response.setHeader('content-type', 'application/json').end('[]');
  }).listen(port, host);
  await once(server, 'listening');
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  const hang = () => {
    isHanging = true;
  };
  return { port: (server.address() as AddressInfo).port, close, hang, count: () => count }; // of a TCP server
}

/** Returns the address of the name, until it is changed. `undefined`: there is no such name. */
function resolveName(first: string) {
  const state: { address: string | undefined } = { address: first };
  const { lookup } = dns;
  const find = (host: string, options: { all?: boolean }, call: (...parameters: unknown[]) => void) => {
    const { address } = state;
    if (host !== NAME) lookup(host, options as never, call as never);
    else if (address === undefined) call(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }));
    else if (options.all === true) call(null, [{ address, family: 4 }]);
    else call(null, address, 4);
  };
  vi.spyOn(dns, 'lookup').mockImplementation(find as never);
  onTestFinished(() => void vi.restoreAllMocks());
  return state;
}

test.each(['close', 'hang'] as const)(
  'an upstream whose address changes while the old one does %s is read at the new one',
  async (end) => {
    const name = resolveName('127.0.0.1');
    const before = await serve('127.0.0.1');
    const after = await serve('127.0.0.2', before.port);
    const budget = { read: 1000, write: 1000, quote: 1000 };
    const url = `http://${NAME}:${before.port}`;
    const upstream = orderBookUpstream({ url, budget, timeouts: { read: 500 } });
    upstream.open({ ...SEPOLIA_DOMAIN, clock: systemClock, onCall() {} });
    onTestFinished(() => upstream.close());
    const read = async () => (await upstream.getOrders([UID])).status;
    expect([await read(), await read(), after.count()]).toEqual(['read', 'read', 0]);
    name.address = '127.0.0.2';
    before[end]();
    // One failed read for each connection that is open, at most two. The end of a closed one may be noticed before.
    const results = [await read(), await read(), await read(), await read()];
    expect(results.join()).toMatch(end === 'hang' ? /^(failed,){1,2}(read,?){2,3}$/ : /^(failed,){0,2}(read,?){2,4}$/);
    expect(after.count()).toBe(results.filter((status) => status === 'read').length);
    // Without the name, nothing is sent.
    name.address = undefined;
    after.close();
    await expect.poll(read).toBe('blocked');
    name.address = '127.0.0.2';
    await serve('127.0.0.2', before.port);
    await expect.poll(read, { timeout: 10_000 }).toBe('read');
  },
);
