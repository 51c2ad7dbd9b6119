import type { AccountStore, StoreContext } from 'intentbook';
import type { PgClient, PgPool, PgPoolClient } from 'intentbook/postgres';
import { postgresStore } from 'intentbook/postgres';
import pg from 'pg';
import { startPostgres } from '../../support/postgres-server.ts';
import type { VirtualProcess } from '../machine/process.ts';
import type { HostDatabase } from './host-database.ts';
import { CREATE_INVOICES } from './host-database.ts';
import type { SimulatedStorage } from './storages.ts';
import type { SharedDatabase } from './two-process-storage.ts';
import { createTwoProcessStorage } from './two-process-storage.ts';

interface Database extends SharedDatabase {
  readonly pool: PgPool;
}

/** The server of all simulations of this process. */
let opening: Promise<Database> | undefined;

/**
 * Creates a storage of two processes in a real PostgreSQL, each of which is embedded in an application that opens
 * transactions. The server waits for a lock for a few milliseconds only; then the call is repeated in virtual time.
 */
export async function createPostgresStorage(
  context: StoreContext,
  accountStore: AccountStore,
): Promise<SimulatedStorage> {
  opening ??= openDatabase();
  const database = await opening;
  const storage = await createTwoProcessStorage(database, context, accountStore);
  const table = `${storage.schema}.invoices`;
  await runText(database.pool, CREATE_INVOICES.replace('invoices', table));
  const host = createPostgresHost(database.pool, storage.schema);
  return {
    ...storage,
    // Calls of a group, and those that a transaction delays, are repeated as a whole.
    faults: ['fail', 'full', 'lose', 'slow'],
    host,
    abandon: host.abandon,
    async dispose() {
      await host.dispose();
      await storage.dispose();
    },
  };
}

/** Creates the database of the application: one connection for each of its transactions. */
function createPostgresHost(pool: PgPool, schema: string) {
  const open = new Map<VirtualProcess, PgPoolClient>();

  async function end(process: VirtualProcess, ending: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    const client = open.get(process);
    if (client === undefined) return;
    open.delete(process);
    await client.query({ text: ending });
    client.release();
  }

  const host: HostDatabase = {
    // The dispatcher receives a hint up to 900 ms after a commit. Its simulated calls take up to 240 ms.
    noticeTime: 1_500,
    async begin(process) {
      if (open.has(process)) return undefined;
      const client = await pool.connect();
      open.set(process, client);
      const run = async (text: string) => void (await client.query({ text }));
      await run(`BEGIN; SET LOCAL search_path = ${schema}`);
      return {
        handle: client,
        exec: run,
        end: (ending) => end(process, ending),
        async listInvoices() {
          const { rows } = await runText(pool, `SELECT uid FROM ${schema}.invoices`);
          return (rows as { readonly uid: string }[]).map(({ uid }) => uid); // the column selected
        },
      };
    },
  };
  return {
    ...host,
    /** Ends the transaction of a process that has ended. */
    abandon: (process: VirtualProcess) => void end(process, 'ROLLBACK'),
    dispose: () => Promise.all([...open.keys()].map((process) => end(process, 'ROLLBACK'))),
  };
}

async function runText(pool: PgPool, text: string) {
  const client = await pool.connect();
  try {
    return await client.query({ text });
  } finally {
    client.release();
  }
}

async function openDatabase(): Promise<Database> {
  const server = await startPostgres({ fsync: 'off' });
  const pool = new pg.Pool({
    connectionString: server.url,
    max: 20,
    connectionTimeoutMillis: 10_000,
    allowExitOnIdle: true,
  });
  pool.on('error', () => {}); // at the end of the process, which ends the server
  let running = 0;
  const count = async <T>(work: Promise<T>): Promise<T> => {
    running++;
    try {
      return await work;
    } finally {
      running--;
    }
  };
  const counted: PgPool = {
    options: pool.options,
    connect: () => count(pool.connect().then((client) => countStatements(client as PgPoolClient, count))),
  };
  return {
    pool: counted,
    get running() {
      return running;
    },
    connect: (schema) => postgresStore(counted, { schema, migrate: true, durable: false, listen: false }),
    drop: (schema) => runText(counted, `DROP SCHEMA IF EXISTS ${schema} CASCADE`),
  };
}

/** Replaces the waits for locks, also those of functions. The store compares their settings with its own. */
const shortenWaits = (text: string) =>
  text
    .replace(/\b(SET (?:LOCAL )?lock_timeout = )(?:4000|'4s')/g, "$1'20ms'")
    .replace("array_to_string(proconfig, ',')", "replace($&, 'lock_timeout=20ms', 'lock_timeout=4s')");

/** Returns a connection whose statements are counted, and on which waits for locks are short. */
function countStatements(client: PgPoolClient, count: <T>(work: Promise<T>) => Promise<T>): PgPoolClient {
  const known = counted.get(client);
  if (known !== undefined) return known;
  const query: PgClient['query'] = ({ text, ...statement }) =>
    count(client.query({ ...statement, text: shortenWaits(text) }));
  const wrapped: PgPoolClient = {
    query,
    on: (event, listener) => client.on?.(event, listener),
    removeListener: (event, listener) => client.removeListener?.(event, listener),
    release: (error) => client.release(error),
    ...(client.processID === undefined ? {} : { processID: client.processID }),
  };
  counted.set(client, wrapped);
  return wrapped;
}

const counted = new WeakMap<PgPoolClient, PgPoolClient>();
