import type { Clock, Domain, Store, StoreTraits } from 'intentbook';
import { systemClock } from 'intentbook';

/** Access of the suite to the store under test. */
export interface StoreHarness {
  /** Traits that the store declares. A case that requires other traits is skipped with a reason. */
  readonly traits: StoreTraits;
  /** Creates an empty storage. */
  create(): Promise<Storage>;
  /** Names of cases that this store is known to fail, each with a reason. They are skipped. */
  readonly exceptions?: Readonly<Record<string, string>>;
}

/** Storage of one case. */
export interface Storage {
  /**
   * Creates a closed store over this storage. The suite calls it several times to reopen one storage. A store without
   * its own storage returns the same store each time.
   */
  connect(): Store;
  /**
   * Runs `work` with an open transaction of the host, in the form that `insert` accepts. Commits it, or rolls it back
   * if `work` rejects. Required if `traits.hostTransaction` is true.
   */
  transact?(work: (transaction: unknown) => Promise<void>): Promise<void>;
  /** Deletes all data. The suite has closed its stores before. */
  dispose(): Promise<void>;
}

/** One rule of the contract. */
export interface ConformanceCase {
  /** Part of the contract. */
  readonly group: string;
  /** Name of the rule, unique within its group. */
  readonly name: string;
  /** Reason why the rule does not apply to this store. Test runners should print it. */
  readonly skip?: string;
  /** Checks the rule. Rejects if the store breaks it. */
  run(): Promise<void>;
}

/** Definition of a case in the suite. */
export interface Rule {
  readonly name: string;
  /** Returns a reason to skip the case, based on the traits. */
  readonly skip?: (traits: StoreTraits) => string | undefined;
  readonly run: (bench: Bench) => Promise<void>;
}

/** Context of a running case. */
export interface Bench {
  /** An open store. */
  readonly store: Store;
  /**
   * Open stores over the same storage for concurrent writes: several if the store allows several writers, otherwise
   * one. Concurrent calls are distributed over them.
   */
  readonly writers: readonly Store[];
  readonly storage: Storage;
  /** Traits that the harness declares. */
  readonly traits: StoreTraits;
  /** Opens another store over the same storage. The suite closes it at the end of the case. */
  open(domain?: Domain): Promise<Store>;
}

/** Domain of the orders in the suite. */
export const DOMAIN: Domain = {
  chainId: 11155111,
  settlementContract: '0x9008d19f58aabd9ed0d60971565aa8510560ab41',
};

const CLOCK: Clock = systemClock;

/** Number of concurrent stores over a storage with several writers. */
const WRITERS = 3;

/** Converts a rule to a case that sets up its own storage. */
export function caseOf(harness: StoreHarness, group: string, rule: Rule): ConformanceCase {
  const skip = harness.exceptions?.[rule.name] ?? rule.skip?.(harness.traits);
  return {
    group,
    name: rule.name,
    ...(skip === undefined ? {} : { skip }),
    async run() {
      const storage = await harness.create();
      const stores = new Set<Store>();
      const open = async (domain = DOMAIN) => {
        const store = storage.connect();
        stores.add(store);
        await store.open({ domain, clock: CLOCK });
        return store;
      };
      try {
        const store = await open();
        const writers = [store];
        if (harness.traits.writers === 'many') while (writers.length < WRITERS) writers.push(await open());
        await rule.run({ store, writers, storage, traits: harness.traits, open });
      } finally {
        for (const store of stores) await store.close();
        await storage.dispose();
      }
    },
  };
}

/** @throws TypeError for a harness without the traits of its store, or without `create`. */
export function assertHarness(where: string, harness: { readonly traits?: unknown; readonly create?: unknown }): void {
  if (typeof harness?.create === 'function' && typeof harness.traits === 'object') return;
  throw new TypeError(`${where}: the harness must have the traits of the store and a function create`);
}
