import type { Clock, Domain, Store, StoreTraits } from 'intentbook';
import { systemClock } from 'intentbook';

/** How the suite gets at the store under test. */
export interface StoreHarness {
  /** What the store declares. Cases that ask for something else are skipped, saying so. */
  readonly traits: StoreTraits;
  /** Makes an empty storage. */
  create(): Promise<Storage>;
  /** Names of cases that this store is known to fail, each with the reason. They are skipped. */
  readonly exceptions?: Readonly<Record<string, string>>;
}

/** Where one case keeps its orders. */
export interface Storage {
  /**
   * Makes a store over this storage, not yet opened. It is called several times to look at one storage anew. A store
   * without a storage of its own answers the same store each time.
   */
  connect(): Store;
  /**
   * Runs `work` with an open transaction of the host, as `insert` takes it, and commits it, or rolls it back when
   * `work` rejects. Needed where `traits.hostTransaction` is true.
   */
  transact?(work: (transaction: unknown) => Promise<void>): Promise<void>;
  /** Throws everything away. The suite has closed its stores. */
  dispose(): Promise<void>;
}

/** One rule of the contract. */
export interface ConformanceCase {
  /** What part of the contract it belongs to. */
  readonly group: string;
  /** The rule. Unique in the suite. */
  readonly name: string;
  /** Why the rule does not apply to this store. Test runners should print it. */
  readonly skip?: string;
  /** Rejects when the rule is broken. */
  run(): Promise<void>;
}

/** A case as the suite writes it down. */
export interface Rule {
  readonly name: string;
  /** A reason to skip it, judged by the traits. */
  readonly skip?: (traits: StoreTraits) => string | undefined;
  readonly run: (bench: Bench) => Promise<void>;
}

/** What a case works with. */
export interface Bench {
  /** An open store. */
  readonly store: Store;
  /**
   * Open stores over the same storage to write with at once: several where the store takes several writers, else the
   * one. Concurrent calls are spread over them.
   */
  readonly writers: readonly Store[];
  readonly storage: Storage;
  /** What the harness declares. */
  readonly traits: StoreTraits;
  /** Opens another store over the same storage. It is closed when the case ends. */
  open(domain?: Domain): Promise<Store>;
}

/** The domain of the orders in the suite. */
export const DOMAIN: Domain = {
  chainId: 11155111,
  settlementContract: '0x9008d19f58aabd9ed0d60971565aa8510560ab41',
};

const CLOCK: Clock = systemClock;

/** How many stores write at once to a storage that takes many writers. */
const WRITERS = 3;

/** Makes of a rule a case that sets up its own storage. */
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
