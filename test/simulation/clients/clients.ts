import type { OrderBook, OrderCreation, OrderResult, SubmitOptions, SubmitResult } from 'intentbook';
import { StoreError } from 'intentbook';
import type { Competitions } from '../chain/competitions.ts';
import type { Model } from '../checks/model.ts';
import type { QuoteCheck } from '../checks/quote-check.ts';
import type { Interval, ReadCheck } from '../checks/read-check.ts';
import type { Insertion, Report } from '../checks/store-observer.ts';
import type { SubscriptionCheck } from '../checks/subscription-check.ts';
import type { BookProcess } from '../machine/book-process.ts';
import type { VirtualProcess } from '../machine/process.ts';
import { START } from '../machine/process.ts';
import type { Scheduler } from '../machine/scheduler.ts';
import type { Pool } from '../orders/pool.ts';
import type { PoolOrder } from '../orders/pool-order.ts';
import { MIN_VALIDITY } from '../orders/pool-order.ts';
import type { Operation } from '../plan/plan.ts';
import type { HostClientContext } from './host-client.ts';
import { createHostClient } from './host-client.ts';
import type { HttpClient, HttpOperation } from './http-client.ts';
import { createQuoteClient } from './quote-client.ts';
import type { SubscriptionOperation } from './subscription-client.ts';
import { createSubscriptionClient } from './subscription-client.ts';

/** Clients that call books and check each result against the model. */
export interface Clients {
  /** Runs an operation. Its promise is settled when the operation has ended, or never if its process ends before. */
  run(operation: Operation, at: BookProcess): Promise<void>;
  /** Checks that every operation has ended, unless its process has. */
  requireAll(notify: Report): void;
  /** Number of operations that have begun. */
  readonly started: number;
}

export interface ClientsContext extends Omit<HostClientContext, 'submit' | 'checkAccepted' | 'read'> {
  readonly pool: Pool;
  readonly model: Model;
  readonly insertions: readonly Insertion[];
  readonly report: Report;
  readonly trace: (text: string) => void;
  readonly reads: ReadCheck;
  readonly http: HttpClient;
  readonly competitions: Pick<Competitions, 'isBidOn'>;
  readonly quotes: QuoteCheck;
  readonly subscriptions: SubscriptionCheck;
  readonly scheduler: Pick<Scheduler, 'time'>;
  /** Returns the id up to which every process has read the log. */
  readonly getReadThrough: () => number;
}

/** Codes for which the model has a reason that does not change. */
const REPLACEMENT_CODES = {
  missing: 'OrderNotFound',
  fulfilled: 'OrderFullyExecuted',
  cancelled: 'AlreadyCancelled',
  expired: 'OrderExpired',
  'on-chain': 'OnChainOrder',
} as const;

export function createClients(context: ClientsContext): Clients {
  const { pool, model, insertions, report, trace, http } = context;
  /** Operations in progress whose order may be inserted without a result, by order. */
  const uncertain = new Map<number, number>();
  const pending = new Map<string, VirtualProcess>();
  const quoteClient = createQuoteClient(context);
  const subscriptionClient = createSubscriptionClient({ ...context, check: context.subscriptions });
  const hostClient = createHostClient({
    ...context,
    submit: (orders, book, transaction) => submit(orders, book, [], { transaction }),
    read: (operation, at) => void clients.run(operation, at),
    checkAccepted: (n, interval, process) => void checkSubmission(n, 'accepted', interval, process),
  });
  let started = 0;

  const order = (n: number) => pool.orders[n] as PoolOrder; // indexes are those of the pool
  const { mark, versions, mayBeExpired, mayBeValid, checkRead } = context.reads;

  function checkSubmission(n: number, code: string, interval: Interval, process: string): Insertion | undefined {
    const { rejection, validTo, replaces } = order(n);
    const isNew = (each: Insertion) =>
      each.order === n && each.commit > interval.from && !each.isAcknowledged && each.process === process;
    const inserted = insertions.find(isNew);
    if (code === 'accepted') {
      if (validTo < interval.earliest + MIN_VALIDITY || rejection !== undefined)
        report('admission', `order ${n} is accepted, but it is ${rejection ?? 'valid for too short a time'}`);
      if (inserted === undefined) report('acknowledged', `order ${n} is accepted, but was not stored by this call`);
      else inserted.isAcknowledged = true;
      return inserted;
    }
    if (code === 'unknown') return undefined;
    // Another call may have stored the order, and has not returned yet.
    if (inserted !== undefined && (uncertain.get(n) ?? 0) === 0)
      report('refused', `order ${n} is stored, but the result is ${code}`);
    const wasStored = versions(n, interval).some((shown) => shown !== undefined);
    const isExplained = (() => {
      switch (code) {
        case 'DuplicatedOrder':
          return wasStored || model.hadTombstone(n, interval.from);
        case 'InsufficientValidTo':
          return validTo < interval.latest + MIN_VALIDITY && mayBeValid(n, interval);
        case 'failed':
        case 'InternalServerError': // a check has failed, such as that of a replacement
          return true;
        case 'OldOrderActivelyBidOn':
          return replaces !== undefined && context.competitions.isBidOn(replaces);
        case 'TooManyLimitOrders':
          return rejection === undefined; // the model has predicted the outcome of the insert
        default:
          if (code === rejection) return true;
          if (code === 'OrderExpired' && mayBeExpired(n, interval)) return true;
          return replaces !== undefined && isCancelRejection(replaces, code, interval);
      }
    })();
    if (!isExplained) report('admission', `order ${n}: the result ${code} has no reason`);
    return undefined;
  }

  /** Returns whether a code was the reason against a cancellation at some time of the interval. */
  function isCancelRejection(n: number, code: string, interval: Interval): boolean {
    return versions(n, interval).some((shown) => {
      if (shown === undefined) return code === REPLACEMENT_CODES.missing;
      if (shown.state === 'fulfilled' || shown.state === 'cancelled') return code === REPLACEMENT_CODES[shown.state];
      if (code === REPLACEMENT_CODES.expired) return mayBeExpired(n, interval);
      const isOnChain = order(n).scheme === 'presign' || order(n).scheme === 'eip1271';
      return code === (isOnChain ? REPLACEMENT_CODES['on-chain'] : 'InvalidSignature');
    });
  }

  function toCode(result: SubmitResult): string {
    if (result.status === 'rejected') return result.error.code;
    return result.status;
  }

  async function submit(
    orders: readonly number[],
    book: OrderBook,
    named: readonly (number | undefined)[],
    options: SubmitOptions = {},
  ): Promise<string[]> {
    const creations = orders.map((n, i) => ({ ...order(n).creation, quoteId: named[i] }) as OrderCreation);
    try {
      const results = await book.orders.submitMany(creations, options);
      return results.map(toCode);
    } catch (failure) {
      if (!(failure instanceof StoreError)) throw failure;
      return orders.map(() => (failure.code === 'OutcomeUnknown' ? 'unknown' : 'failed'));
    }
  }

  async function runSubmission({ orders, quote }: Operation & { kind: 'submit' }, at: BookProcess): Promise<string> {
    const { book, process } = at;
    const end = mark(process);
    const stored = context.quotes.mark();
    const named = orders.map((n) => quoteClient.find(n, quote));
    const change = (by: number) => {
      for (const n of orders) uncertain.set(n, (uncertain.get(n) ?? 0) + by);
    };
    change(1);
    at.submissions++;
    const codes = await submit(orders, book, named);
    at.submissions--;
    change(-1);
    const interval = end();
    const results = orders.map((n, i) => ({ n, code: codes[i] ?? 'none', id: named[i] }));
    // Its order may be stored without an acknowledgement, at any time. The other copy of it may have another result.
    for (const { n, code } of results) if (code === 'unknown') uncertain.set(n, (uncertain.get(n) ?? 0) + 1);
    // Of two copies of an order, the second may be the one that is stored.
    results.sort((a, b) => Number(b.code === 'accepted') - Number(a.code === 'accepted'));
    for (const { n, code, id } of results) {
      const inserted = checkSubmission(n, code, interval, process.name);
      // Of two copies of an order, either can be stored.
      const isUnique = orders.indexOf(n) === orders.lastIndexOf(n);
      if (inserted !== undefined && isUnique && quoteClient.isQuoting(at))
        context.quotes.onAccepted(n, inserted.quote, id, stored, interval);
    }
    return codes.join();
  }

  async function runCancellation(
    { orders, signer }: Operation & { kind: 'cancel' },
    book: OrderBook,
    process: VirtualProcess,
  ): Promise<string> {
    const end = mark(process);
    const result = await book.orders.cancel(pool.cancel(orders, signer));
    const interval = end();
    const code = result.status === 'rejected' ? result.error.code : result.status;
    const isForeign = orders.some((n) => order(n).signer !== signer);
    if (code === 'unknown') return code;
    if (isForeign !== (code === 'WrongOwner')) report('cancellation', `orders ${orders.join()}: got ${code}`);
    if (code === 'cancelled') {
      for (const n of orders) {
        const isCancelled = versions(n, interval).some((shown) => shown?.state === 'cancelled');
        if (!isCancelled) report('acknowledged', `order ${n} is not cancelled, but the result is ${code}`);
      }
    } else if (!isForeign && !orders.some((n) => isCancelRejection(n, code, interval))) {
      report('cancellation', `orders ${orders.join()}: the result ${code} has no reason`);
    }
    return code;
  }

  /** Deletes old data, as the command of an operator does. */
  async function runPruning(operation: PruneOperation, { store }: BookProcess): Promise<string> {
    const { orders, retention } = store.store;
    const before = START + Math.floor(context.scheduler.time / 1000) - operation.age;
    const limit = 1_000;
    if (operation.kind === 'prune') return String(await orders.prune({ before, limit }));
    const request = { before: before * 1000, through: context.getReadThrough(), limit };
    if (operation.kind === 'pruneLog') return String(await retention.pruneEvents(request));
    return String((await retention.pruneChainEvents({ before, limit })).removed);
  }

  async function runRead(
    operation: Extract<Operation, { kind: 'get' | 'getMany' | 'list' | 'trades' }>,
    book: OrderBook,
    process: VirtualProcess,
  ): Promise<string> {
    const end = mark(process);
    switch (operation.kind) {
      case 'get': {
        const found = await book.orders.get(order(operation.order).uid);
        const interval = end();
        checkRead(operation.order, found, interval);
        // Placements and settlements have no quotes.
        const isOwn =
          order(operation.order).placedBy === undefined &&
          !versions(operation.order, interval).some((shown) => shown?.isJustInTime);
        if (found !== undefined && isOwn) context.quotes.onRead(operation.order, found);
        return found?.status ?? 'absent';
      }
      case 'getMany': {
        const results: OrderResult[] = await book.orders.getMany(operation.orders.map((n) => order(n).uid));
        const interval = end();
        const byUid = new Map(results.map(({ order: each }) => [each?.uid, each]));
        const unique = [...new Set(operation.orders)];
        for (const n of unique) checkRead(n, byUid.get(order(n).uid), interval);
        if (results.length > unique.length) report('reads', 'a read returned an order twice');
        return String(results.length);
      }
      case 'list': {
        const { orders } = await book.orders.list({ owner: pool.owners[operation.signer] ?? '', limit: 100 });
        const interval = end();
        const uids = orders.map(({ uid }) => uid).join();
        if (!model.listsBetween(operation.signer, interval.from, interval.to).includes(uids)) {
          report('listings', `the list of owner ${operation.signer} is that of no time of the read`);
        }
        for (const each of orders) checkRead(pool.byUid.get(each.uid)?.index ?? -1, each, interval);
        return String(orders.length);
      }
      case 'trades': {
        const { uid } = order(operation.order);
        const trades = await book.trades.list({ orderUid: uid });
        end();
        return String(trades.length);
      }
    }
  }

  const clients: Clients = {
    get started() {
      return started;
    },
    requireAll(notify) {
      for (const [key, process] of pending) {
        if (!process.isDead) notify('liveness', `an operation has not ended: ${key}`);
      }
    },
    async run(operation, at) {
      const { book, process } = at;
      const label = `${process.name} ${describeOperation(operation)}`;
      trace(label);
      started++;
      const key = `${started} ${label}`;
      pending.set(key, process);
      let result: string;
      try {
        if (operation.kind === 'submit') result = await runSubmission(operation, at);
        else if (operation.kind === 'cancel') result = await runCancellation(operation, book, process);
        else if (operation.kind === 'transaction') result = await hostClient.run(operation, at);
        else if (operation.kind === 'quote') result = await quoteClient.run(operation.order, at);
        else if (isPruning(operation)) result = await runPruning(operation, at);
        else if (isHttp(operation)) result = await http.run(operation, at);
        else if (operation.kind === 'replay') result = String(await at.accounts.deliveries.replay());
        else if (isSubscription(operation)) result = await subscriptionClient.run(operation, at);
        else result = await runRead(operation, book, process);
      } catch (failure) {
        // A failure of the simulated store, or of a book that closes.
        if (!(failure instanceof StoreError)) {
          report('failure', `${label}: ${failure instanceof Error ? `${failure.stack}` : String(failure)}`);
        }
        result = failure instanceof StoreError ? failure.code : 'failure';
      }
      pending.delete(key);
      trace(`${label}: ${result}`);
    },
  };
  return clients;
}

type PruneOperation = Extract<Operation, { kind: 'prune' | 'pruneLog' | 'pruneChain' }>;

const isPruning = (operation: Operation): operation is PruneOperation =>
  operation.kind === 'prune' || operation.kind === 'pruneLog' || operation.kind === 'pruneChain';

const isHttp = (operation: Operation): operation is HttpOperation =>
  ['http', 'auction', 'compete', 'competition'].includes(operation.kind);

const isSubscription = (operation: Operation): operation is SubscriptionOperation =>
  operation.kind === 'subscribe' || operation.kind === 'unsubscribe' || operation.kind === 'subscriptions';

function describeOperation(operation: Operation): string {
  switch (operation.kind) {
    case 'submit':
      return `submit ${operation.orders.join()} ${operation.quote ?? ''}`;
    case 'transaction':
      return `${operation.kind} until ${operation.ending}`;
    case 'getMany':
      return `${operation.kind} ${operation.orders.join()}`;
    case 'cancel':
      return `cancel ${operation.orders.join()} by ${operation.signer}`;
    case 'get':
    case 'trades':
    case 'http':
    case 'quote':
    case 'compete':
      return `${operation.kind} ${operation.order}`;
    case 'auction':
    case 'competition':
    case 'replay':
      return operation.kind;
    case 'prune':
    case 'pruneLog':
    case 'pruneChain':
      return `${operation.kind} ${operation.age}`;
    case 'list':
      return `list ${operation.signer}`;
    case 'subscribe':
    case 'unsubscribe':
      return `${operation.kind} ${operation.owner} with ${operation.proof}`;
    case 'subscriptions':
      return `${operation.kind} ${operation.owner}`;
  }
}
