import type { AccountStore, AccountStoreTraits, Clock } from 'intentbook';
import type { ConformanceCase } from '../harness.ts';

/** Access of the suite to the account store under test. */
export interface AccountStoreHarness {
  /** Traits that the store declares. A case that requires other traits is skipped with a reason. */
  readonly traits: AccountStoreTraits;
  /** Creates an empty storage. */
  create(): Promise<AccountStorage>;
  /** Names of cases that this store is known to fail, each with a reason. They are skipped. */
  readonly exceptions?: Readonly<Record<string, string>>;
}

/** Storage of one case. */
export interface AccountStorage {
  /**
   * Creates a closed store over this storage. The suite calls it several times to reopen one storage. A store without
   * its own storage returns the same store each time.
   */
  connect(): AccountStore;
  /** Deletes all data. The suite has closed its stores before. */
  dispose(): Promise<void>;
}

/** Definition of a case in the suite. */
export interface AccountRule {
  readonly name: string;
  readonly skip?: (traits: AccountStoreTraits) => string | undefined;
  readonly run: (bench: AccountBench) => Promise<void>;
}

/** Context of a running case. */
export interface AccountBench {
  /** An open store. */
  readonly store: AccountStore;
  /**
   * Open stores over the same storage for concurrent writes: several if the store allows several writers, otherwise
   * one.
   */
  readonly writers: readonly AccountStore[];
  /** Opens another store over the same storage. The suite closes it at the end of the case. */
  open(): Promise<AccountStore>;
}

export const AT = 1_700_000_000_000;

const CLOCK: Clock = { now: () => AT, after: () => () => {} };

/** Number of concurrent stores over a storage with several writers. */
const WRITERS = 3;

/** Converts a rule to a case that sets up its own storage. */
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
