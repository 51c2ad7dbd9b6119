import type { AccountStore, StoreContext } from 'intentbook';
import type { PgliteDatabase } from 'intentbook/postgres';
import { pgliteStore } from 'intentbook/postgres';
import type { SimulatedStorage } from './storages.ts';
import type { SharedDatabase } from './two-process-storage.ts';
import { createTwoProcessStorage } from './two-process-storage.ts';

/** The database of all simulations of this process. */
let opening: Promise<SharedDatabase> | undefined;

/** Creates a storage of two processes in PGlite, which has one connection. */
export async function createPgliteStorage(
  context: StoreContext,
  accountStore: AccountStore,
): Promise<SimulatedStorage> {
  opening ??= openDatabase();
  return createTwoProcessStorage(await opening, context, accountStore);
}

async function openDatabase(): Promise<SharedDatabase> {
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
  const counted: PgliteDatabase = {
    query: (text, values, options) => count(database.query(text, values, options)),
    exec: (text, options) => count(database.exec(text, options)),
    parsers: database.parsers,
    serializers: database.serializers,
    waitReady: database.waitReady,
  };
  return {
    get running() {
      return running;
    },
    connect: (schema) => pgliteStore(counted, { schema }),
    drop: (schema) =>
      counted.exec(`DROP SCHEMA IF EXISTS ${schema} CASCADE`, { rowMode: 'object', parsers: {}, serializers: {} }),
  };
}
