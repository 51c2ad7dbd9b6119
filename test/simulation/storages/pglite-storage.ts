import type { AccountStore, Store, StoreContext } from 'intentbook';
import type { PgliteDatabase } from 'intentbook/postgres';
import { pgliteStore } from 'intentbook/postgres';
import { listGroups } from '../ports/call-runner.ts';
import type { SimulatedStorage } from './storages.ts';

/** The database of all simulations of this process. Each has its own schema. */
let opening: Promise<Database> | undefined;
let schemas = 0;

interface Database extends PgliteDatabase {
  /** Number of statements that are running. */
  readonly running: number;
}

/** Turns of the event loop without a statement after which a call waits for virtual time. */
const MAX_IDLE_TURNS = 20;

/**
 * Creates a storage of two processes in PGlite, which runs the statements of the PostgreSQL store. A call of the store
 * ends in the step in which it began, so that the seed decides the order of all calls.
 */
export async function createPgliteStorage(
  context: StoreContext,
  accountStore: AccountStore,
): Promise<SimulatedStorage> {
  opening ??= openDatabase();
  const database = await opening;
  const schema = `simulation_${++schemas}`;
  const stores: Store[] = [];
  /** Number of calls that have not ended. */
  let calls = 0;
  let idleTurns = 0;

  async function count<T>(call: () => Promise<T>): Promise<T> {
    calls++;
    idleTurns = 0;
    try {
      return await call();
    } finally {
      calls--;
    }
  }

  const connect = () => {
    const store = pgliteStore(database, { schema });
    stores.push(store);
    return countCalls(store, count);
  };
  const observed = connect();
  await observed.open(context);
  return {
    processes: 2,
    observed,
    accountStore,
    faults: ['fail', 'full', 'lose', 'tear', 'slow', 'busy'],
    opens: true,
    connect,
    traits: pgliteStore(database, { schema }).traits,
    isBusy() {
      if (database.running > 0) idleTurns = 0;
      else idleTurns++;
      // A call waits for the end of a turn between two statements.
      return database.running > 0 || (calls > 0 && idleTurns < MAX_IDLE_TURNS);
    },
    abandon() {},
    async dispose() {
      for (const store of stores) await store.close().catch(() => {}); // of a process that did not start
      await database.exec(`DROP SCHEMA IF EXISTS ${schema} CASCADE`, {
        rowMode: 'object',
        parsers: {},
        serializers: {},
      });
    },
  };
}

/** Wraps all methods that a store has in its groups. */
function countCalls(store: Store, count: <T>(call: () => Promise<T>) => Promise<T>): Store {
  const groups = listGroups(store).map(([noun, group]) => {
    const calls = Object.entries(group).map(
      ([name, call]) => [name, (...args: readonly unknown[]) => count(() => call(...args))] as const,
    );
    return [noun, Object.fromEntries(calls)] as const;
  });
  return { ...store, ...(Object.fromEntries(groups) as unknown as Partial<Store>) }; // the same groups and methods
}

async function openDatabase(): Promise<Database> {
  const { PGlite } = await import('@electric-sql/pglite');
  const database: PgliteDatabase = await PGlite.create();
  let running = 0;
  const count = async <T>(statement: Promise<T>): Promise<T> => {
    running++;
    try {
      return await statement;
    } finally {
      running--;
    }
  };
  return {
    get running() {
      return running;
    },
    query: (text, values, options) => count(database.query(text, values, options)),
    exec: (text, options) => count(database.exec(text, options)),
    parsers: database.parsers,
    serializers: database.serializers,
    waitReady: database.waitReady,
  };
}
