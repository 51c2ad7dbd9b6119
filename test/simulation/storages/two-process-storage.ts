import type { AccountStore, Store, StoreContext } from 'intentbook';
import { listGroups } from '../ports/call-runner.ts';
import type { SimulatedStorage } from './storages.ts';

/** A database that simulations of this process share. Each has its own schema. */
export interface SharedDatabase {
  /** Number of statements that are running. */
  readonly running: number;
  connect(schema: string): Store;
  /** Deletes a schema. */
  drop(schema: string): Promise<unknown>;
}

let schemas = 0;

/** Turns of the event loop without a statement after which a call waits for virtual time. */
const MAX_IDLE_TURNS = 20;

/**
 * Creates a storage of two processes in a database, which runs the statements of the PostgreSQL store. A call of the
 * store ends in the step in which it began, so that the seed decides the order of all calls.
 */
export async function createTwoProcessStorage(
  database: SharedDatabase,
  context: StoreContext,
  accountStore: AccountStore,
): Promise<SimulatedStorage & { readonly schema: string }> {
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
    const store = database.connect(schema);
    stores.push(store);
    return countCalls(store, count);
  };
  const observed = connect();
  await observed.open(context);
  return {
    schema,
    processes: 2,
    observed,
    accountStore,
    faults: ['fail', 'full', 'lose', 'tear', 'slow', 'busy'],
    opens: true,
    connect,
    traits: observed.traits,
    isBusy() {
      if (database.running > 0) idleTurns = 0;
      else idleTurns++;
      // A call waits for the end of a turn between two statements.
      return database.running > 0 || (calls > 0 && idleTurns < MAX_IDLE_TURNS);
    },
    abandon() {},
    async dispose() {
      for (const store of stores) await store.close().catch(() => {}); // of a process that did not start
      await database.drop(schema);
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
