import { join } from 'node:path';
import { createOrderBook } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { afterEach, expect, test } from 'vitest';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { startBadProxy } from '../../support/upstream/bad-proxy.ts';
import { startSecondBook } from '../../support/upstream/second-book.ts';
import { addressOf, cleanUp, intentbook, scratch } from '../server/process.ts';

afterEach(cleanUp);

/** Orders of the owner. The importer has rows of 984 a page after the first one. */
const ORDERS = Number(process.env['TEST_LONG'] === undefined ? 10_000 : 50_000);
const KILLS = 5;
const READS_PER_SECOND = 5;

test('scenario 19: the import of an owner continues after each kill -9, and reads no page twice', {
  timeout: 600_000,
}, async () => {
  const limits = { maxOpenOrders: 2 * ORDERS, maxPendingOrders: 2 * ORDERS };
  const second = await startSecondBook({ limits });
  const proxy = await startBadProxy({ target: second.url });
  const owner = account(1);
  const validTo = Math.floor(Date.now() / 1000) + 86_400;
  const model = { ...(await signOrder(owner, { validTo })), signingScheme: 'presign', signature: '0x' };
  for (let i = 0; i < ORDERS; i++) {
    const result = await second.book.orders.submit({ ...model, sellAmount: String(10 ** 9 + i) } as never);
    expect(result.status).toBe('accepted');
  }

  const db = join(await scratch(), 'book.sqlite');
  const pages = () => proxy.requests.filter(({ path }) => path.includes('/account/')).map(({ path }) => path);
  const flags = ['--port', '0', '--db', db, '--chain', 'sepolia', '--upstream', proxy.url];
  const follow = ['--followed-owners', owner.address, '--upstream-reads', String(READS_PER_SECOND)];
  const begin = Date.now();
  for (let kill = 1; kill <= KILLS; kill++) {
    const server = intentbook(['serve', ...flags, ...follow]);
    const until = Math.ceil((kill * ORDERS) / 1000 / (KILLS + 1));
    await expect.poll(() => pages().length, { timeout: 120_000, interval: 5 }).toBeGreaterThanOrEqual(until);
    server.child.kill('SIGKILL');
    await server.ended;
  }
  const server = intentbook(['serve', ...flags, ...follow]);
  const url = await addressOf(server);
  const findOldest = async () => {
    const response = await fetch(`${url}/api/v1/account/${owner.address}/orders?limit=1&offset=${ORDERS - 1}`);
    return ((await response.json()) as unknown[]).length;
  };
  await expect.poll(findOldest, { timeout: 240_000, interval: 200 }).toBe(1);
  const seconds = (Date.now() - begin) / 1000;
  await expect.poll(() => proxy.requests.length - pages().length, { timeout: 60_000 }).toBeGreaterThan(1); // it follows
  server.child.kill('SIGTERM');
  await server.ended;

  const book = createOrderBook({ chainId: SEPOLIA, store: sqliteStore({ path: db }) });
  await book.start();
  let count = 0;
  for (let cursor: string | undefined, isLast = false; !isLast; isLast = cursor === undefined) {
    const page = await book.orders.list({
      owner: owner.address,
      limit: 1000,
      ...(cursor === undefined ? {} : { cursor }),
    });
    count += page.orders.length;
    cursor = page.next;
  }
  const entries = await book.log.last();
  await book.close();
  await proxy.close();
  await second.close();

  expect(count).toBe(ORDERS);
  expect(entries).toBe(ORDERS); // one for each order
  // A page that was read but not stored at a kill is read again.
  expect(pages().length).toBeLessThanOrEqual(Math.ceil(ORDERS / 984) + KILLS + 1);
  expect(proxy.requests.length / seconds).toBeLessThanOrEqual(READS_PER_SECOND);
});
