import { join } from 'node:path';
import { createOrderBook, type Store } from 'intentbook';
import { postgresStore } from 'intentbook/postgres';
import { sqliteStore } from 'intentbook/sqlite';
import { afterEach, expect, test } from 'vitest';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { temporaryDatabase } from '../../support/postgres.ts';
import { startBadProxy } from '../../support/upstream/bad-proxy.ts';
import { startSecondBook } from '../../support/upstream/second-book.ts';
import { addressOf, cleanUp, intentbook, scratch } from '../server/process.ts';

afterEach(cleanUp);

/** Orders of the owner. The importer has rows of 984 a page after the first one. */
const ORDERS = Number(process.env['TEST_LONG'] === undefined ? 10_000 : 50_000);
const KILLS = 5;
const READS_PER_SECOND = 5;

/** A store of the server: its flags, and a way to read what the server has written. */
interface Place extends AsyncDisposable {
  readonly flags: readonly string[];
  open(): Store;
}

const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  async sqlite() {
    const path = join(await scratch(), 'book.sqlite');
    return { flags: ['--db', path], open: () => sqliteStore({ path }), [Symbol.asyncDispose]: async () => {} };
  },
  async postgres() {
    const database = await temporaryDatabase();
    const { url } = database;
    const flags = ['--postgres', url];
    expect((await intentbook(['migrate', ...flags]).ended).code).toBe(0);
    return { ...database, flags, open: () => postgresStore({ url }) };
  },
};

test.each(Object.entries(PLACES))(
  'scenario 19: an import over %s continues after each kill -9, and reads no page twice',
  {
    timeout: 900_000,
  },
  async (_, create) => {
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

    await using place = await create();
    const pages = () => proxy.requests.filter(({ path }) => path.includes('/account/')).map(({ path }) => path);
    const flags = ['--port', '0', ...place.flags, '--chain', 'sepolia', '--upstream', proxy.url];
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
    // It follows the orders.
    await expect.poll(() => proxy.requests.length - pages().length, { timeout: 60_000 }).toBeGreaterThan(1);
    server.child.kill('SIGTERM');
    await server.ended;

    const book = createOrderBook({ chainId: SEPOLIA, store: place.open() });
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
    // A page that was not stored at a kill is read again. Later reads of the newest rows are short.
    const whole = pages().filter((path) => /offset=[1-9]|limit=1000/.test(path));
    expect(new Set(whole).size).toBeLessThanOrEqual(Math.ceil(ORDERS / 900) + 1);
    expect(whole.length - new Set(whole).size).toBeLessThanOrEqual(KILLS);
    expect(proxy.requests.length / seconds).toBeLessThanOrEqual(READS_PER_SECOND);
  },
);
