import type { AccountStore, AccountStoreTraits, Clock } from 'intentbook';
import type { ConformanceCase } from '../harness.ts';

/** How the suite gets at the account store under test. */
export interface AccountStoreHarness {
  /** What the store declares. Cases that ask for something else are skipped, saying so. */
  readonly traits: AccountStoreTraits;
  /** Makes an empty storage. */
  create(): Promise<AccountStorage>;
  /** Names of cases that this store is known to fail, each with the reason. They are skipped. */
  readonly exceptions?: Readonly<Record<string, string>>;
}

/** Where one case keeps what it has. */
export interface AccountStorage {
  /**
   * Makes a store over this storage, not yet opened. It is called several times to look at one storage anew. A store
   * without a storage of its own answers the same store each time.
   */
  connect(): AccountStore;
  /** Throws everything away. The suite has closed its stores. */
  dispose(): Promise<void>;
}

/** A case as the suite writes it down. */
export interface AccountRule {
  readonly name: string;
  readonly skip?: (traits: AccountStoreTraits) => string | undefined;
  readonly run: (bench: AccountBench) => Promise<void>;
}

/** What a case works with. */
export interface AccountBench {
  /** An open store. */
  readonly store: AccountStore;
  /** Open stores over the same storage to write with at once: several where it takes several writers, else the one. */
  readonly writers: readonly AccountStore[];
  /** Opens another store over the same storage. It is closed when the case ends. */
  open(): Promise<AccountStore>;
}

export const AT = 1_700_000_000_000;

const CLOCK: Clock = { now: () => AT, after: () => () => {} };

/** How many stores write at once to a storage that takes many writers. */
const WRITERS = 3;

/** Makes of a rule a case that sets up its own storage. */
export function caseOf(harness: AccountStoreHarness, group: string, rule: AccountRule): ConformanceCase {
  const skip = harness.exceptions?.[rule.name] ?? rule.skip?.(harness.traits);
  return {
    group,
    name: rule.name,
    ...(skip === undefined ? {} : { skip }),
    async run() {
      const storage = await harness.create();
      const stores = new Set<AccountStore>();
      const open = async () => {
        const store = storage.connect();
        stores.add(store);
        await store.open({ clock: CLOCK });
        return store;
      };
      try {
        const store = await open();
        const writers = [store];
        if (harness.traits.writers === 'many') while (writers.length < WRITERS) writers.push(await open());
        await rule.run({ store, writers, open });
      } finally {
        for (const store of stores) await store.close();
        await storage.dispose();
      }
    },
  };
}
