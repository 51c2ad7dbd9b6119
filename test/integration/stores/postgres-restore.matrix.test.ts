import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createOrderBook, systemClock } from 'intentbook';
import { createAccounts } from 'intentbook/accounts';
import { beginPostgresLogEpoch, postgresAccountStore, postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { afterEach, describe, expect, test } from 'vitest';
import { account, SEPOLIA, SEPOLIA_DOMAIN, signCancellation, signOrder } from '../../support/orders.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { backUpFiles, startFromFiles, startPostgres } from '../../support/postgres-server.ts';
import { until } from '../channels/channel-fixture.ts';

const ALICE = account(1);

/** Servers of the system, beside which `pg_dump` and `pg_restore` are installed. */
const SYSTEM = [18, 17, 16, 15, 14].map((version) => `/usr/lib/postgresql/${version}`);
const programs = SYSTEM.find((folder) => existsSync(join(folder, 'bin/postgres')));

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

function disposed(server: PostgresServer): PostgresServer {
  cleanUps.push(() => server.dispose());
  return server;
}

/** A folder that the user of the server can write to. */
function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'intentbook-restore-'));
  chmodSync(path, 0o777);
  cleanUps.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** Starts a book with accounts on a database. */
async function serve(url: string) {
  const book = createOrderBook({ chainId: SEPOLIA, store: postgresStore({ url, migrate: true }) });
  const store = postgresAccountStore({ url, migrate: true });
  const accounts = createAccounts({ books: [book], store, fundingInterval: 'off' });
  await book.start();
  await accounts.start();
  const close = async () => {
    await accounts.close();
    await book.close();
  };
  return {
    close,
    async submit(from: number, count: number): Promise<string[]> {
      const uids: string[] = [];
      const validTo = Math.floor(Date.now() / 1000) + 3600;
      for (let n = from; n < from + count; n++) {
        const result = await book.orders.submit(await signOrder(ALICE, { validTo, buyAmount: String(n) }));
        if (result.status !== 'accepted') throw result.error;
        uids.push(result.uid);
      }
      return uids;
    },
    /** Cancels orders, and waits for the notifications. @returns the orders of all notifications. */
    async cancel(orderUids: readonly string[]): Promise<string[]> {
      await book.orders.cancel({ orderUids: [...orderUids], ...(await signCancellation(ALICE, { orderUids })) });
      const list = async () => {
        const { notifications } = await accounts.notifications.list(ALICE.address);
        return notifications.map(({ metadata }) => String((metadata as { orderUid?: string }).orderUid));
      };
      await until(async () => (await list()).some((uid) => uid === orderUids.at(-1)));
      return (await list()).sort();
    },
  };
}

/** Reads the log of a book after an id. */
async function readLog(url: string, after: number) {
  const store = postgresStore({ url, listen: false });
  await store.open({ domain: SEPOLIA_DOMAIN, clock: systemClock });
  const events = await store.events.after(after, 1000);
  await store.close();
  return events;
}

/**
 * Writes to a server, creates a backup, writes again, and restores the backup. A follower has read everything before.
 *
 * @param backUp - Creates a backup. @returns a function that restores it and returns the URL of the database.
 */
async function drill(source: PostgresServer, backUp: () => Promise<() => Promise<string>>): Promise<void> {
  const before = await serve(source.url);
  const kept = await before.submit(1, 5);
  const [first = ''] = kept;
  expect(await before.cancel([first])).toEqual([first]);
  const restore = await backUp();
  const lost = await before.submit(100, 5);
  await before.cancel([lost[0] ?? '']);
  const seen = (await readLog(source.url, 0)).at(-1)?.id ?? 0;
  await before.close();

  const url = await restore();
  const after = await serve(url);
  const fresh = await after.submit(200, 5);
  const cancelled = fresh.slice(0, 2);
  // Of the cancellations of the restored database and of those that follow, each causes one notification.
  expect(await after.cancel(cancelled)).toEqual([first, ...cancelled].sort());
  await after.close();
  // The follower returns with the last id that it has seen, and receives each new entry, in a new epoch.
  const entries = await readLog(url, seen);
  expect(entries.map(({ type, uid }) => `${type} ${uid}`)).toEqual([
    ...fresh.map((uid) => `created ${uid}`),
    ...cancelled.map((uid) => `cancelled ${uid}`),
  ]);
  const restored = await readLog(url, 0);
  expect(restored.filter(({ type }) => type === 'created').map(({ uid }) => uid)).toEqual([...kept, ...fresh]);
  expect(restored.filter(({ id }) => id <= seen).length).toBe(kept.length + 1);
}

describe('restore of a PostgreSQL database', () => {
  test('from a snapshot of the disk loses no new entry or notification after begin-epoch', async () => {
    const source = disposed(await startPostgres());
    const files = join(folder(), 'data');
    await drill(source, async () => {
      // A snapshot of a disk has the files of one moment, as those of a server that has crashed.
      await source.stop();
      cpSync(source.data, files, { recursive: true, filter: (path) => basename(path) !== 'postmaster.pid' });
      await source.start();
      return async () => {
        await source.stop();
        const { url } = disposed(await startFromFiles(files));
        await beginPostgresLogEpoch({ url });
        await beginPostgresLogEpoch({ url, of: 'accounts' });
        return url;
      };
    });
  });

  test('to a point in time loses no new entry or notification', async () => {
    const archive = folder();
    const archiving = { archive_mode: 'on', archive_command: `cp %p ${archive}/%f` };
    const source = disposed(await startPostgres(archiving));
    const files = join(folder(), 'data');
    await drill(source, async () => {
      await backUpFiles(source, files);
      await query(source.url, "SELECT pg_create_restore_point('drill')");
      return async () => {
        const [segment] = await query(source.url, 'SELECT pg_walfile_name(pg_switch_wal()) AS name');
        await until(async () => existsSync(join(archive, String(segment?.['name']))));
        await source.stop();
        const target = {
          restore_command: `cp ${archive}/%f %p`,
          recovery_target_name: 'drill',
          recovery_target_action: 'promote',
        };
        const { url } = disposed(await startFromFiles(files, target, 'recovery.signal'));
        await until(async () => (await query(url, 'SELECT pg_is_in_recovery() AS is'))[0]?.['is'] === false);
        return url;
      };
    });
  });

  test.skipIf(programs === undefined)('from a dump loses no new entry or notification', async () => {
    const previous = process.env['TEST_POSTGRES'];
    process.env['TEST_POSTGRES'] = programs; // a dump needs programs of the same version
    const source = disposed(await startPostgres());
    if (previous === undefined) delete process.env['TEST_POSTGRES'];
    else process.env['TEST_POSTGRES'] = previous;
    const run = (name: string, ...args: string[]) => execFileSync(join(programs ?? '', 'bin', name), args);
    const file = join(folder(), 'book.dump');
    await drill(source, async () => {
      run('pg_dump', '--format=custom', `--file=${file}`, source.url);
      return async () => {
        await query(source.url, 'CREATE DATABASE restored');
        const url = new URL(source.url);
        url.pathname = '/restored';
        run('pg_restore', `--dbname=${url.href}`, file);
        return url.href;
      };
    });
  });
});
