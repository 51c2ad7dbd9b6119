import type { AccountStore } from '../ports/account-store.ts';
import { readMonotonic } from '../ports/clock.ts';
import { type Store, type StoreContext, StoreError } from '../ports/store.ts';

/** The operations of an open store, by part. They may return a result directly instead of a promise. */
export type StoreOperations<S> = Direct<Omit<S, 'traits' | 'open' | 'close'>> & { close(): void | Promise<void> };

type Direct<T> = { readonly [K in keyof T]: DirectMember<T[K]> };

type DirectMember<T> = T extends (...args: infer A) => infer R
  ? (...args: A) => R | Awaited<R>
  : T extends object
    ? Direct<T>
    : T;

/** A store, described by the function that opens it. */
export interface StoreDefinition<S, Context> {
  /** For messages: `PostgreSQL store`. */
  readonly name: string;
  /** The message when the store is opened a second time. */
  readonly inUse: string;
  /** Opens the store. The returned operations are called only until the store is closed. */
  readonly start: (context: Context) => Promise<StoreOperations<S>>;
}

const ORDERS = [
  'insert',
  'get',
  'list',
  'filterPlaced',
  'cancel',
  'addQuote',
  'count',
  'total',
  'expire',
  'reinstate',
  'prune',
] as const;
const CHAIN = [
  'progress',
  'blocks',
  'apply',
  'adopt',
  'rollback',
  'trades',
  'firstTrade',
  'settlements',
  'settlementsOfAuction',
] as const;

/**
 * Creates the store of a book. Before `open` and after `close`, its operations reject with `Closed`. `close` waits for
 * those that run. The observer of the book receives the duration of each operation.
 *
 * @param optional - The optional operations on orders that the store has.
 */
export function createStore(
  traits: Store['traits'],
  definition: StoreDefinition<Store, StoreContext>,
  optional: readonly ('getEncoded' | 'scan')[] = [],
): Store {
  const { operations, part, ...lifecycle } = createFacade(definition);
  return {
    traits,
    ...lifecycle,
    orders: part('orders', [...ORDERS, ...optional]),
    appData: part('appData', ['put', 'get']),
    quotes: part('quotes', ['insert', 'match', 'prune']),
    events: {
      ...part('events', ['last', 'after']),
      isNewest: (id) => operations().events.isNewest?.(id) ?? false,
      watch: (hint) => operations().events.watch(hint),
    },
    leases: part('leases', ['acquire', 'release']),
    chain: part('chain', CHAIN),
    auctions: part('auctions', ['insert', 'get', 'record', 'competition', 'lastCompetition', 'competitions']),
    tasks: part('tasks', ['get', 'due', 'write', 'count']),
    retention: part('retention', ['prunedThrough', 'pruneEvents', 'pruneChainEvents', 'pruneDocuments']),
  };
}

/** Creates an account store, with the rules of {@link createStore}. */
export function createAccountStore(
  traits: AccountStore['traits'],
  definition: StoreDefinition<AccountStore, Pick<StoreContext, 'clock'>>,
): AccountStore {
  const { operations, part, ...lifecycle } = createFacade(definition);
  return {
    traits,
    ...lifecycle,
    forget: async (account) => operations().forget(account),
    notifications: {
      ...part('notifications', ['cursor', 'append', 'list', 'marks', 'last', 'after']),
      watch: (hint) => operations().notifications.watch(hint),
    },
    affiliates: part('affiliates', ['register', 'byWallet', 'byCode']),
    subscriptions: part('subscriptions', ['create', 'confirm', 'list', 'remove']),
    deliveries: part('deliveries', ['claim', 'recordResult', 'list', 'count', 'replay']),
    leases: part('leases', ['acquire', 'release']),
    retention: part('retention', ['prunedThrough', 'pruneNotifications', 'pruneNonces']),
  };
}

/** Creates the members of a store that call its operations while it is open. */
function createFacade<S extends { check(): Promise<void> }, Context extends Pick<StoreContext, 'clock' | 'observer'>>({
  name,
  inUse,
  start,
}: StoreDefinition<S, Context>) {
  let opened: { readonly operations: StoreOperations<S>; readonly context: Context } | undefined;
  let opening: Promise<void> | undefined;
  const running = new Set<unknown>();

  function requireOpened() {
    if (opened === undefined) throw new StoreError('Closed', `the ${name} is not open`);
    return opened;
  }

  /** Waits for an operation, so that `close` does too, and passes its duration to the observer. */
  async function run(operation: string, work: (operations: StoreOperations<S>) => unknown): Promise<unknown> {
    const { operations, context } = requireOpened();
    const { clock } = context;
    const observer = context.observer?.hasListeners() === true ? context.observer : undefined;
    const startedAt = observer && readMonotonic(clock);
    let result: unknown;
    let failed = true;
    try {
      result = work(operations);
      if (result instanceof Promise) running.add(result);
      const value = await result;
      failed = false;
      return value;
    } finally {
      running.delete(result);
      if (startedAt !== undefined) observer?.notify({ operation, ms: readMonotonic(clock) - startedAt, failed });
    }
  }

  type Methods = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

  /** Returns the methods of a part of the store, each of which runs the operation of its name. */
  function part<P extends keyof S & keyof StoreOperations<S>, N extends keyof S[P] & string>(
    key: P & string,
    names: readonly N[],
  ): Pick<S[P], N> {
    const methods = names.map((method) => [
      method,
      (...args: readonly unknown[]) =>
        run(`${key}.${method}`, (operations) => (operations[key] as Methods)[method]?.(...args)),
    ]);
    return Object.fromEntries(methods) as Pick<S[P], N>; // the methods of these names
  }

  return {
    part,
    operations: () => requireOpened().operations,
    check: async (): Promise<void> => requireOpened().operations.check(),
    async open(context: Context): Promise<void> {
      if (opened !== undefined || opening !== undefined) throw new StoreError('WriterActive', inUse);
      opening = start(context).then((operations) => {
        opened = { operations, context };
      });
      try {
        await opening;
      } finally {
        opening = undefined;
      }
    },
    /** Waits for a running `open` and for running operations. A second call does nothing. */
    async close(): Promise<void> {
      await opening?.catch(() => {}); // the caller of `open` receives the error
      const closing = opened?.operations;
      opened = undefined;
      await Promise.allSettled(running);
      await closing?.close();
    },
  };
}
