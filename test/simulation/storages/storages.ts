import type { AccountStore, Clock, Store } from 'intentbook';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import type { VirtualProcess } from '../machine/process.ts';
import { CHAIN_ID } from '../orders/pool-order.ts';
import type { StoreFault } from '../plan/plan.ts';
import type { HostDatabase } from './host-database.ts';
import { createPgliteStorage } from './pglite-storage.ts';
import { createPostgresStorage } from './postgres-storage.ts';
import { createSqliteStorage } from './sqlite-storage.ts';

/** The names of the storages that are included. */
export const STORAGES = ['memory', 'shared', 'sqlite', 'handle', 'pglite', 'postgres'] as const;
/** The name of a storage. */
export type StorageName = (typeof STORAGES)[number];

/** The storage of a simulation, which survives the ends of its processes. */
export interface SimulatedStorage {
  /** Number of processes that use it concurrently. */
  readonly processes: number;
  /** The faults that its calls can have. */
  readonly faults: readonly StoreFault[];
  /** Whether each process opens its own store. */
  readonly opens: boolean;
  /** Returns the store of a process that starts. */
  connect(): Store;
  /** The traits that books see. */
  readonly traits: Store['traits'];
  /** The open account store of all processes. It stays open when a process ends. */
  readonly accountStore: AccountStore;
  /** An open store for the checks. Absent: the store of the process that started last. */
  readonly observed?: Store;
  /** Whether a call has begun real work that has not ended. Absent: no call does. */
  readonly isBusy?: () => boolean;
  /** The database of an application whose transactions submissions join. Absent: there is none. */
  readonly host?: HostDatabase;
  /** Called when a process that has opened the store has been killed. */
  abandon(process: VirtualProcess): void;
  /** Replaces the storage by a backup of it, while no process runs. Absent: the storage has no backups. */
  restore?(): Promise<void>;
  dispose(): Promise<void>;
}

/** Creates a storage. @param clock - The clock of a database server. */
export async function createStorage(
  name: StorageName,
  clock: Clock,
  settlementContract: `0x${string}`,
): Promise<SimulatedStorage> {
  if (name === 'sqlite' || name === 'handle') return createSqliteStorage(clock, name === 'handle');
  const accountStore = memoryAccountStore();
  await accountStore.open({ clock });
  if (name === 'pglite' || name === 'postgres') {
    const create = name === 'pglite' ? createPgliteStorage : createPostgresStorage;
    return create({ domain: { chainId: CHAIN_ID, settlementContract }, clock }, accountStore);
  }
  const store = memoryStore();
  await store.open({ domain: { chainId: CHAIN_ID, settlementContract }, clock });
  await store.chain.progress(); // loads the module of chain events
  const isShared = name === 'shared';
  return {
    processes: isShared ? 2 : 1,
    // The outcome of a write in the same process is always known, and no other process has a lock.
    faults: isShared ? ['fail', 'full', 'lose', 'tear', 'slow', 'busy'] : ['fail', 'full', 'slow'],
    opens: false,
    connect: () => store,
    accountStore,
    traits: isShared ? { ...store.traits, name: 'simulated', writers: 'many' } : store.traits,
    abandon() {},
    dispose: () => store.close(),
  };
}
