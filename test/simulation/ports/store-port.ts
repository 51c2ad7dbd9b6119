import type {
  ApplyOutcome,
  CancelRequest,
  ChainEventBatch,
  InsertOptions,
  InsertOutcome,
  OrderInsert,
  Store,
} from 'intentbook';
import { StoreError } from 'intentbook';
import type { Report, StoreObserver } from '../checks/store-observer.ts';
import { OBSERVED_CALLS } from '../checks/store-observer.ts';
import type { TransactionCheck } from '../checks/transaction-check.ts';
import type { StoreFault } from '../plan/plan.ts';
import type { CallRunnerContext } from './call-runner.ts';
import { createCallRunner, isLockTimeout, listGroups, loseOutcome } from './call-runner.ts';

/** The connection of a virtual process to a store. */
export interface StorePort {
  readonly store: Store;
  /** The faults in effect. */
  readonly faults: Set<StoreFault>;
}

export interface StorePortContext extends CallRunnerContext {
  readonly inner: Store;
  readonly observer: StoreObserver;
  /** Follows the inserts that join transactions of the application. */
  readonly transactions: TransactionCheck;
  readonly report: Report;
  /** Whether the process opens and closes the inner store. A store in memory stays open when a process ends. */
  readonly opens: boolean;
  readonly traits: Store['traits'];
  /** Number of blocks whose hashes are kept, if chain events below them are deleted. Absent: those of the indexer. */
  readonly keptHashes: number | undefined;
  /** Calls the hint when another process has written. */
  readonly watch: (hint: () => void) => () => void;
}

/** The groups of methods of a store. */
type StoreGroups = Omit<Store, 'traits' | 'open' | 'close' | 'check'>;

/** Writes whose acknowledgement can be lost. */
const LOSABLE = new Set([
  'cancel',
  'expire',
  'reinstate',
  'prune',
  'pruneEvents',
  'put',
  'apply',
  'adopt',
  'rollback',
  'write',
  'acquire',
  'release',
]);

/** Operations that skip locked owners. The model knows no locks, so they fail while a transaction is open. */
const SWEEPS = new Set(['orders.expire', 'orders.reinstate', 'orders.prune']);

/** Returns the owner of an order: the UID is its hash, the owner and `validTo`. */
const getOwner = (uid: string) => `0x${uid.slice(66, 106)}`;

/** Creates the port. */
export function createStorePort(context: StorePortContext): StorePort {
  const { inner, process, random, observer, transactions } = context;
  const { run, faults } = createCallRunner(context);

  async function insertAll(
    inserts: readonly OrderInsert[],
    options?: InsertOptions,
  ): Promise<readonly InsertOutcome[]> {
    const outcomes = inserts.length === 0 ? [] : await inner.orders.insert(inserts, options);
    const isBusy = (i: number) => outcomes[i]?.status === 'busy';
    for (const [i, { order }] of inserts.entries())
      if (isBusy(i) && !transactions.hasLocked([order.owner]))
        context.report('transactions', `an insert skips ${order.owner}, which no transaction has locked`);
    const [known, results] = [inserts.filter((_, i) => !isBusy(i)), outcomes.filter((_, i) => !isBusy(i))];
    await observer.onInsert(process.name, known, results);
    return outcomes;
  }

  /** Checks that a transaction of the application delays calls of its owners only. */
  async function checkLocks<T>(owners: readonly string[] | undefined, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (failure) {
      if (isLockTimeout(failure) && !transactions.hasLocked(owners))
        context.report('transactions', `a call waits for owners that no transaction has locked: ${owners}`);
      throw failure;
    }
  }

  /** Such an insert is not part of the store before the application commits it, and its outcome is always known. */
  async function join(inserts: readonly OrderInsert[], options: InsertOptions): Promise<InsertOutcome[]> {
    try {
      transactions.onJoin(options.transaction, inserts);
      const outcomes = await inner.orders.insert(inserts, options);
      transactions.onJoined(options.transaction, inserts, outcomes);
      return outcomes;
    } catch (failure) {
      transactions.onFailed(options.transaction, failure);
      throw failure;
    }
  }

  function insert(inserts: readonly OrderInsert[], options?: InsertOptions): Promise<InsertOutcome[]> {
    if (options?.transaction !== undefined) return run('join', () => join(inserts, options));
    const execute = async () => {
      const owner = inserts[0]?.order.owner;
      const isBusy = faults.has('busy') && options?.skipLocked === true && random.chance(0.5);
      if (isBusy) context.onFault('store busy');
      const waits = ({ order }: OrderInsert) => isBusy && order.owner === owner;
      const free = inserts.filter((each) => !waits(each));
      // A database may execute a group in several transactions. The connection breaks after the first one.
      const isTorn = faults.has('tear') && free.length > 1 && random.chance(0.5);
      if (isTorn) context.onFault('store tear');
      const known = isTorn ? random.integer(1, free.length - 1) : free.length;
      const outcomes = await insertAll(free.slice(0, known), options);
      if (isTorn && random.chance(0.5)) await insertAll(free.slice(known), options);
      let next = 0;
      return inserts.map((each): InsertOutcome => {
        if (waits(each)) return { status: 'busy' };
        return outcomes[next++] ?? { status: 'unknown' };
      });
    };
    const owners = inserts.map(({ order }) => order.owner);
    return run(
      'insert',
      () => checkLocks(owners, execute),
      () => inserts.map(() => ({ status: 'unknown' })),
    );
  }

  const groups = listGroups(inner).map(([noun, group]) => {
    const calls = Object.entries(group).map(([name, call]) => {
      const isObserved = OBSERVED_CALLS.has(`${noun}.${name}`);
      const execute = async (args: readonly unknown[], calledAt: number) => {
        // The store cannot know that the clock was set back after the call, when it gets documents of new orders.
        if (name === 'pruneDocuments' && process.clock.now() < calledAt)
          throw new StoreError('Unavailable', 'the simulated clock was set back');
        if (SWEEPS.has(`${noun}.${name}`) && transactions.hasLocked())
          throw new StoreError('Unavailable', 'a transaction of the application has locked owners');
        const owners = name === 'cancel' ? (args[0] as CancelRequest).uids.map(getOwner) : undefined; // of the port
        const result = await checkLocks(owners, () => call(...args));
        if (name === 'pruneDocuments')
          observer.onDocuments((args[0] as { before: number }).before, process.clock.now()); // the argument of the port
        if (isObserved) await observer.onCall(`${noun}.${name}`, args, result);
        return result;
      };
      const lose = LOSABLE.has(name) ? loseOutcome : undefined;
      return [
        name,
        (...args: readonly unknown[]) => {
          const calledAt = process.clock.now();
          return run(name, () => execute(args, calledAt), lose);
        },
      ] as const;
    });
    return [noun, Object.fromEntries(calls)] as const;
  });
  async function apply(batch: ChainEventBatch): Promise<ApplyOutcome> {
    const { keptHashes } = context;
    if (keptHashes === undefined) return wrapped.chain.apply(batch);
    return wrapped.chain.apply({ ...batch, forgetBelow: batch.through.number - keptHashes });
  }

  const wrapped = Object.fromEntries(groups) as unknown as StoreGroups; // the same groups with the same methods

  return {
    faults,
    store: {
      ...wrapped,
      traits: context.traits,
      orders: { ...wrapped.orders, insert },
      chain: { ...wrapped.chain, apply },
      events: {
        ...wrapped.events,
        watch: context.watch,
        isNewest: (id) => inner.events.isNewest?.(id) ?? false,
      },
      async open(given) {
        if (context.opens) await inner.open(given);
      },
      async close() {
        if (context.opens && !process.isDead) await inner.close();
      },
      check: () => run('check', () => inner.check()),
    },
  };
}
