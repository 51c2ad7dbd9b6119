import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { account, signCancellation, signOrder } from '../../support/orders.ts';
import { addressOf, CLI, cleanUp, run, scratch } from './process.ts';

afterEach(cleanUp);

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Installs the built package in a new folder. Returns the folder of the package. */
async function install(): Promise<string> {
  if (!existsSync(CLI)) throw new Error('the server is tested as it is built: run "npm run build" first');
  const folder = join(await scratch(), 'node_modules', 'intentbook');
  mkdirSync(folder, { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  cpSync(dirname(CLI), join(folder, 'dist'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** A node that responds to each call with a revert. */
async function revertingNode() {
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const calls = [JSON.parse(text)].flat() as { readonly id: number; readonly method: string }[];
    const results = calls.map(({ id, method }) => {
      if (method === 'eth_chainId') return { jsonrpc: '2.0', id, result: '0xaa36a7' };
      return { jsonrpc: '2.0', id, error: { code: 3, message: 'execution reverted', data: '0x' } };
    });
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(text.startsWith('[') ? results : results[0]));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a listening server has an address
  return { url: `http://127.0.0.1:${port}`, [Symbol.dispose]: () => void server.close() };
}

/** Sends a request of each kind. Returns method, path and status of each. */
async function requestEach(url: string): Promise<string[]> {
  const validTo = Math.floor(Date.now() / 1000) + 3600;
  const order = await signOrder(account(1), { validTo });
  const owner = account(1).address;
  const request = async (method: string, path: string, init: RequestInit = {}) =>
    `${method} ${path} ${(await fetch(`${url}${path}`, { method, ...init })).status}`;
  const send = (method: string, path: string, body: unknown) =>
    request(method, path, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const uid = `0x${'11'.repeat(56)}`;
  const cancellation = { orderUids: [uid], ...(await signCancellation(account(1), { orderUids: [uid] })) };
  const quote = { sellToken: order.sellToken, buyToken: order.buyToken, from: owner, kind: 'sell' };
  const abort = new AbortController();
  const stream = (path: string) => request('GET', path, { signal: abort.signal });
  const lines = await Promise.all([
    send('POST', '/api/v1/orders', order),
    send('POST', '/api/v1/orders', { ...order, signingScheme: 'eip1271' }),
    send('POST', '/api/v1/orders', { ...order, signingScheme: 'presign', signature: '0x', sellAmount: '7' }),
    send('POST', '/api/v1/quote', { ...quote, sellAmountBeforeFee: '1000000' }),
    send('DELETE', '/api/v1/orders', cancellation),
    send('DELETE', `/api/v1/orders/${uid}`, { signature: `0x${'00'.repeat(65)}`, signingScheme: 'eip712' }),
    send('POST', '/api/v1/orders/by_uids', [uid]),
    send('PUT', '/api/v1/app_data', { fullAppData: '{"appCode":"test"}' }),
    ...[
      `/api/v1/account/${owner}/orders`,
      `/api/v1/orders/${uid}`,
      `/api/v1/orders/${uid}/status`,
      `/api/v1/transactions/0x${'11'.repeat(32)}/orders`,
      `/api/v1/trades?owner=${owner}`,
      `/api/v2/trades?owner=${owner}`,
      '/api/v1/auction',
      '/api/v1/orders?status=open',
      '/api/v1/solver_competition/latest',
      `/api/v1/app_data/0x${'11'.repeat(32)}`,
      `/api/v1/token/${order.sellToken}/native_price`,
      `/api/v1/token/${order.sellToken}/metadata`,
      `/api/v1/users/${owner}/total_surplus`,
      '/api/v1/version',
      '/ready',
      '/openapi.json',
      '/docs',
      '/explorer',
      `/accounts/${owner}/notifications`,
      `/accounts/${owner}/orders?format=csv`,
      `/1/tokens/${order.sellToken}/details`,
      `/11155111/tokens/${order.sellToken}/details`,
    ].map((path) => request('GET', path)),
    ...['/api/v1/orders/stream', '/api/v1/auction/stream'].map(stream),
  ]);
  abort.abort();
  return lines;
}

test.each([
  ['in a file', () => ({ flags: ['--db', 'orders.sqlite'], [Symbol.dispose]() {} })],
  ['in memory', () => ({ flags: ['--db', ':memory:'], [Symbol.dispose]() {} })],
  [
    'with a node',
    async () => {
      const node = await revertingNode();
      return { flags: ['--db', 'orders.sqlite', '--rpc', node.url], [Symbol.dispose]: node[Symbol.dispose] };
    },
  ],
])('a server serves each kind of request without the files of its package and its peers, %s', async (_, prepare) => {
  using setup = await prepare();
  async function serve(remove: (folder: string) => void): Promise<{ lines: string[]; stderr: string }> {
    const folder = await install();
    const program = [join(folder, 'dist', 'cli.js'), 'serve', '--port', '0', ...setup.flags];
    const server = run(process.execPath, program, { cwd: await scratch() });
    const url = await addressOf(server);
    remove(folder);
    const lines = await requestEach(url);
    server.child.kill('SIGTERM');
    return { lines, stderr: (await server.ended).stderr };
  }
  const intact = await serve(() => {});
  const removed = await serve((folder) => renameSync(folder, `${folder}-old`));
  expect(removed.lines).toEqual(intact.lines);
  expect(removed.stderr).not.toMatch(/ERR_MODULE_NOT_FOUND|ENOENT|Cannot find/);
});
