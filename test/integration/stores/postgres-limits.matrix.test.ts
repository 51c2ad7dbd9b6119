import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import type { Store } from 'intentbook';
import { systemClock } from 'intentbook';
import type { PgPool, PgPoolClient } from 'intentbook/postgres';
import { migratePostgres, postgresStore } from 'intentbook/postgres';
import { CHAIN_EVENT_TYPES, formatChainEventDetail } from 'intentbook/store-kit';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { apply, invalidation, read, trade } from '../../conformance/chain.ts';
import { DOMAIN } from '../../conformance/harness.ts';
import { ALICE, address, BOB, NOW, order, PLACED_AT, range, word } from '../../conformance/orders.ts';
import { quote } from '../../conformance/quotes.ts';
import type { TemporarySchema } from '../../support/postgres.ts';
import { emptySchema, temporarySchema } from '../../support/postgres.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { startPostgres } from '../../support/postgres-server.ts';

/** Its own server, because the tests end sessions and change settings. */
let server: PostgresServer;
let here: TemporarySchema;
beforeAll(async () => {
  server = await startPostgres();
  here = await temporarySchema(server.url);
  await migratePostgres({ url: here.url, schema: here.schema });
});
afterAll(async () => await server.dispose());
beforeEach(() => emptySchema(here));

async function opened(url = here.url, options = {}): Promise<Store> {
  const store = postgresStore({ url, schema: here.schema, listen: false, ...options });
  await store.open({ domain: DOMAIN, clock: systemClock });
  return store;
}

async function clientOf(url = here.url): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** A proxy in front of the server that can hold back, join or cut what the server sends. */
async function proxy(onData: (data: Buffer, toClient: Socket) => void): Promise<{ url: string; server: Server }> {
  const target = new URL(here.url);
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    client.on('error', () => {}).on('close', () => upstream.destroy());
    upstream.on('error', () => {}).on('close', () => client.end());
    client.on('data', (data) => upstream.write(data));
    upstream.on('data', (data) => onData(data, client));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const listening = server.address();
  if (listening === null || typeof listening === 'string') throw new Error('the proxy has no port');
  const url = new URL(here.url);
  url.port = String(listening.port);
  return { url: url.href, server };
}

/** `ErrorResponse` of a server that ends the session. */
function fatal(): Buffer {
  const fields = Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0');
  const length = Buffer.alloc(4);
  length.writeInt32BE(fields.length + 4);
  return Buffer.concat([Buffer.from('E'), length, fields]);
}

describe('PostgreSQL connection', () => {
  test('that the server ends in the packet in which it accepts it does not end the process', async () => {
    const failures: unknown[] = [];
    const onFailure = (failure: unknown) => failures.push(failure);
    process.on('uncaughtException', onFailure);
    let armed = false;
    // The driver reads both messages before the caller of the pool receives the connection.
    const { url, server: door } = await proxy((data, client) => {
      const isReady = data.at(-6) === 'Z'.charCodeAt(0);
      if (armed && isReady) client.end(Buffer.concat([data, fatal()]));
      else client.write(data);
    });
    const pool = new pg.Pool({ connectionString: url });
    pool.on('error', () => {});
    // A host's pool, with the listener that docs/deploy/postgresql.md requires.
    pool.on('connect', (client) => void client.on('error', () => {}));
    const stores = [await opened(url), postgresStore(pool, { schema: here.schema, listen: false })];
    await stores[1]?.open({ domain: DOMAIN, clock: systemClock });
    await here.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
    armed = true;
    for (const store of stores) {
      for (let i = 0; i < 3; i++) await expect(store.check()).rejects.toMatchObject({ code: 'Unavailable' });
    }
    armed = false;
    for (const store of stores) {
      await store.check();
      await store.close();
    }
    await pool.end();
    door.close();
    process.off('uncaughtException', onFailure);
    expect(failures).toEqual([]);
  });

  test('limits statements, locks and idle transactions on the server', async () => {
    const store = await opened();
    const [row] = await here.query(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE '%client_connection_check_interval%' " +
        'AND pid <> pg_backend_pid()',
    );
    expect(row?.['n']).toBeLessThanOrEqual(1); // connections are set up one by one, on first use
    const client = await clientOf();
    await client.query(`BEGIN; LOCK TABLE "${here.schema}".orders IN ACCESS EXCLUSIVE MODE`);
    const outcomes = await Promise.allSettled([
      store.orders.insert([{ order: order(1) }]),
      store.orders.get([order(1).uid]),
      store.orders.cancel({ uids: [order(1).uid], now: NOW, cancelledAt: PLACED_AT }),
      store.check(),
    ]);
    expect(
      outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.cause.code : 'fulfilled')),
    ).toEqual(outcomes.map(() => '55P03'));
    await client.query('ROLLBACK');
    await client.end();
    expect(await store.orders.insert([{ order: order(1) }])).toEqual([{ status: 'inserted' }]);
    await store.close();
  });

  test('limits a statement to the time that is left after the wait for a connection', async () => {
    const pool = new pg.Pool({ connectionString: here.url });
    const limits: unknown[] = [];
    let waited = 0;
    const time = vi.spyOn(performance, 'now').mockImplementation(() => waited);
    const slowPool: PgPool = {
      async connect() {
        const client: PgPoolClient = await pool.connect();
        waited += 4000;
        return {
          query(query) {
            limits.push(query.limit);
            return client.query(query);
          },
          release: () => client.release(),
        };
      },
    };
    const store = postgresStore(slowPool, { schema: here.schema, listen: false });
    try {
      await store.open({ domain: DOMAIN, clock: systemClock });
      limits.length = 0;
      await store.orders.insert([{ order: order(1) }]);
      await store.orders.get([order(1).uid]);
      await store.quotes.insert(quote(1));
      await store.appData.put({ hash: order(1).appData, document: '{}' }, 1);
    } finally {
      time.mockRestore();
    }
    expect(limits).toEqual([5000, 5000, 5000, 5000]);
    await store.close();
    await pool.end();
  });

  test('is closed after a request to cancel a statement, which may arrive after the end of the statement', async () => {
    let isHeld = false;
    const held: (() => void)[] = [];
    const { url, server: door } = await proxy((data, client) => {
      if (isHeld) held.push(() => client.write(data));
      else client.write(data);
    });
    const store = await opened(url);
    await store.orders.get([order(1).uid]);
    const [session] = await here.query("SELECT pid FROM pg_stat_activity WHERE query LIKE 'WITH o AS%'");
    const cancellation = once(door, 'connection');
    // No time is left for the statement, whose response arrives after its cancellation was requested.
    const time = vi.spyOn(performance, 'now').mockReturnValueOnce(0).mockReturnValue(9000);
    isHeld = true;
    const reading = store.orders.get([order(1).uid]);
    await cancellation;
    time.mockRestore();
    isHeld = false;
    for (const deliver of held) deliver();
    await Promise.allSettled([reading]); // the server may have cancelled it
    const find = () => here.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [session?.['pid']]);
    await expect.poll(find).toEqual([]);
    await store.close();
    door.close();
  });

  test('that is silent after the login fails within 10 seconds', async () => {
    let silent = false;
    const { url, server: door } = await proxy((data, client) => {
      if (!silent || data[0] === 'R'.charCodeAt(0)) client.write(data);
    });
    const store = await opened(url);
    await here.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
    silent = true;
    const outcome = await Promise.race([
      store.check().catch(({ code }) => code),
      new Promise((resolve) => setTimeout(() => resolve('still waiting'), 10_000)),
    ]);
    expect(outcome).toBe('Unavailable');
    silent = false;
    await store.check();
    await store.close();
    door.close();
  });

  test('that is ready after the wait for it has ended returns to the pool', async () => {
    let delay = 0;
    const { url, server: door } = await proxy((data, client) => {
      if (delay === 0 || data[0] === 'R'.charCodeAt(0)) client.write(data);
      else setTimeout(() => client.write(data), delay);
    });
    const store = await opened(url, { connections: 2 });
    const client = await clientOf();
    await client.query(`BEGIN; LOCK TABLE "${here.schema}".orders IN ACCESS EXCLUSIVE MODE`);
    const get = () => store.orders.get([order(1).uid]).catch(({ code }) => code);
    const holding = [get(), get()];
    const waiting = [get(), get()];
    // The pool opens other connections for the requests that wait, whose wait ends before these are ready.
    await new Promise((resolve) => setTimeout(resolve, 3500));
    delay = 800;
    await here.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND pid <> $1',
      [(await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid],
    );
    expect(await Promise.all([...holding, ...waiting])).toEqual(Array(4).fill('Unavailable'));
    await client.query('ROLLBACK');
    await client.end();
    delay = 0;
    await expect.poll(() => Promise.all([get(), get()]), { timeout: 3000 }).toEqual([[], []]);
    await store.close();
    door.close();
  });

  test('to a server that became read-only is replaced', async () => {
    const store = await opened(here.url, { connections: 2 });
    // As if the address led to a standby for a moment: the session stays read-only after the server is writable again.
    const client = await clientOf();
    const name = new URL(here.url).pathname.slice(1);
    await client.query(`ALTER DATABASE "${name}" SET default_transaction_read_only = on`);
    await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
    for (let i = 0; i < 3; i++) {
      await expect(store.orders.insert([{ order: order(1) }])).rejects.toMatchObject({ code: 'Unavailable' });
    }
    await client.query(`ALTER DATABASE "${name}" RESET default_transaction_read_only`);
    await client.end();
    await store.orders.insert([{ order: order(1) }]).catch(() => {}); // at most one connection per attempt is left
    expect((await store.orders.insert([{ order: order(2) }]))[0]?.status).toBe('inserted');
    await store.close();
  });
});

describe('PostgreSQL replica that does not respond', () => {
  test('delays the first reads only', async () => {
    let connections = 0;
    const silent = createServer((socket) => {
      connections++;
      socket.on('error', () => {});
    }).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const readUrl = new URL(here.url);
    readUrl.port = String((silent.address() as AddressInfo).port);
    const store = await opened(here.url, { readUrl: readUrl.href });
    await store.orders.insert([{ order: order(1) }]);
    await store.appData.get(order(1).appData);
    const attempts = connections;
    expect(attempts).toBeGreaterThan(0);
    expect(await store.orders.get([order(1).uid])).toHaveLength(1);
    expect(await store.orders.list({ limit: 9 })).toHaveLength(1);
    expect(connections).toBe(attempts);
    await store.close();
    silent.close();
  });
});

describe('PostgreSQL rollback', () => {
  test('of many chain events ends within the limit of an idle transaction', async () => {
    const store = await opened();
    const count = 60_000;
    const detail = formatChainEventDetail(invalidation(order(1), 1));
    await here.query(
      `INSERT INTO "${here.schema}".chain_events (block, log, type, block_hash, transaction_hash, key, detail) ` +
        "SELECT 1 + n / 100, n, $1, decode(lpad('1', 64, '0'), 'hex'), decode(lpad('1', 64, '0'), 'hex'), " +
        `decode(lpad(to_hex(n), 112, '0'), 'hex'), $2 FROM generate_series(1, ${count}) n`,
      [CHAIN_EVENT_TYPES.indexOf('invalidation'), detail],
    );
    const outcome = await store.chain.rollback({ to: 0, at: PLACED_AT });
    expect(outcome).toEqual({ status: 'rolledBack', removed: count, indexedBlock: null });
    await store.close();
  });
});

describe('PostgreSQL owner with a running write', () => {
  test('delays no other owner of a group, and receives its order afterwards', async () => {
    const store = await opened();
    await store.orders.insert([{ order: order(1) }]);
    const client = await clientOf();
    await client.query('BEGIN');
    await store.orders.insert([{ order: order(2) }, { order: order(3, { owner: address(77) }) }], {
      transaction: client,
    });
    const others = range(20).map((n) => ({ order: order(100 + n, { owner: n % 2 === 0 ? BOB : address(n) }) }));
    // One locked owner, one new owner of the open transaction, and others.
    const group = [{ order: order(4) }, { order: order(5, { owner: address(77) }) }, ...others];
    const outcomes = await store.orders.insert(group, { skipLocked: true });
    expect(outcomes.map(({ status }) => status)).toEqual(['busy', 'busy', ...others.map(() => 'inserted')]);
    await client.query('COMMIT');
    await client.end();
    const later = await store.orders.insert(group, { skipLocked: true });
    expect(later.map(({ status }) => status)).toEqual(['inserted', 'inserted', ...others.map(() => 'duplicate')]);
    expect(await store.orders.count(ALICE, NOW)).toEqual({ open: 3, pending: 0 });
    await store.close();
  });

  test.each([
    ['a new document', false],
    ['a document that is not known to be needed as long', true],
  ])('delays no other owner whose order has %s of its transaction', async (_, isKnown) => {
    const store = await opened();
    const insert = (n: number, owner = BOB, validity = 3_000_000) => {
      const placed = order(n, { owner, appData: word(1), validTo: NOW + validity });
      return { order: placed, document: { hash: placed.appData, document: '{}' } };
    };
    if (isKnown) await store.orders.insert([insert(50, address(60), 600)]);
    for (const ending of ['ROLLBACK', 'COMMIT']) {
      const client = await clientOf();
      await client.query('BEGIN');
      await store.orders.insert([insert(1, ALICE)], { transaction: client });
      const [first, second] = ending === 'ROLLBACK' ? [2, 3] : [4, 5];
      expect(await store.orders.insert([insert(first)])).toEqual([{ status: 'inserted' }]);
      expect(await store.orders.insert([insert(second, address(88))], { skipLocked: true })).toEqual([
        { status: 'inserted' },
      ]);
      await client.query(ending);
      await client.end();
    }
    expect(await store.orders.get([insert(1, ALICE).order.uid])).toHaveLength(1);
    await store.close();
  });

  test('delays no other owner of a group with an order whose chain event is already stored', async () => {
    const store = await opened();
    const traded = order(6, { owner: BOB });
    await apply(store, 10, trade(traded, 10));
    const client = await clientOf();
    await client.query('BEGIN');
    await store.orders.insert([{ order: order(1) }], { transaction: client });
    const group = [{ order: order(2) }, { order: traded }, { order: order(3) }, { order: order(7, { owner: BOB }) }];
    const outcomes = await store.orders.insert(group, { skipLocked: true });
    expect(outcomes.map(({ status }) => status)).toEqual(['busy', 'inserted', 'busy', 'inserted']);
    expect(await read(store, traded)).toMatchObject({ executedSellAmount: '40' });
    await client.query('COMMIT');
    await client.end();
    const later = await store.orders.insert(group, { skipLocked: true });
    expect(later.map(({ status }) => status)).toEqual(['inserted', 'duplicate', 'inserted', 'duplicate']);
    await store.close();
  });

  test('is freed when the process that holds its lock does not continue', async () => {
    const store = await opened();
    await store.orders.insert([{ order: order(1) }]);
    const client = await clientOf();
    // The session of a frozen process: its transaction is idle. The store sets this limit for its transactions.
    await client.query("BEGIN; SET LOCAL idle_in_transaction_session_timeout = '500ms'");
    await client.query(`SELECT "${here.schema}".lock_owners(ARRAY['\\x${ALICE.slice(2)}'::bytea], false)`);
    expect(await store.orders.insert([{ order: order(2) }], { skipLocked: true })).toEqual([{ status: 'busy' }]);
    expect(await store.orders.insert([{ order: order(2) }])).toEqual([{ status: 'inserted' }]);
    await store.close();
  });
});

describe('PostgreSQL synchronous standby that is away', () => {
  test('leaves the outcome unknown, and no abandoned session', async () => {
    const store = await opened(here.url, { connections: 3 });
    const client = await clientOf();
    const set = (value: string) =>
      client
        .query(`ALTER SYSTEM SET synchronous_standby_names = '${value}'`)
        .then(() => client.query('SELECT pg_reload_conf()'));
    await client.query("SET synchronous_commit = 'local'");
    await set('ghost');
    try {
      await expect
        .poll(async () => (await client.query('SHOW synchronous_standby_names')).rows)
        .toEqual([{ synchronous_standby_names: 'ghost' }]);
      // Orders do not depend on quotes, so these do not wait for the standby.
      expect(await store.quotes.insert(quote(1))).toBeTypeOf('number');
      const inserting = range(3).map((n) => store.orders.insert([{ order: order(n, { owner: address(n + 1) }) }]));
      expect((await Promise.all(inserting)).flat()).toEqual(range(3).map(() => ({ status: 'unknown' })));
      // Stored on the primary, as the outcome permits.
      expect(await store.orders.get(range(3).map((n) => order(n, { owner: address(n + 1) }).uid))).toHaveLength(3);
      const { rows } = await client.query(
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND pid <> pg_backend_pid()",
      );
      expect(rows).toEqual([{ n: 0 }]);
    } finally {
      await set('');
      await client.end();
    }
    await expect.poll(async () => store.orders.insert([{ order: order(9) }])).toEqual([{ status: 'inserted' }]);
    await store.close();
  });
});
