import type { AccountStore, ChainEventPruneRequest, Store } from 'intentbook';
import { recordPrunedBefore, yieldToEventLoop } from '#internal';
import type { Progress } from './progress.ts';
import { countOrders } from './walk.ts';

/** Days that data is kept. Kinds without a number are kept. */
export interface PruneAges {
  /** Finished orders, after their end. */
  readonly orders: number;
  /** Entries of the event log. */
  readonly events?: number;
  /** Chain events of deleted orders. */
  readonly chainEvents?: number;
  /** Documents without orders. */
  readonly documents?: number;
  /** Notifications, with their deliveries. */
  readonly notifications?: number;
}

/** The numbers of deleted rows. Kinds that were not requested are absent. */
export interface Pruned {
  /** Number of orders whose expiry was recorded first. */
  readonly swept: number;
  readonly orders: number;
  readonly quotes: number;
  readonly events?: number;
  readonly chainEvents?: number;
  readonly documents?: number;
  /** Orders that finished before this time were deleted. ISO 8601. */
  readonly before: string;
}

/** The numbers of rows that were deleted from an account store. */
export interface PrunedAccounts {
  readonly notifications?: number;
  readonly nonces: number;
}

/** Maximum number of rows per step, which bounds the time that other clients wait. */
const STEP = 500;

const DAY = 24 * 60 * 60;

/** Counts the orders that `pruneBook` would delete. Those whose expiry is not recorded yet are not counted. */
export async function countPrunable(store: Store, days: number, now: number): Promise<PrunePreview> {
  const before = Math.floor(now / 1000) - days * DAY;
  const orders = await countOrders(store, before);
  return { ...(orders === undefined ? {} : { orders }), before: new Date(before * 1000).toISOString() };
}

/** The orders that would be deleted. */
export interface PrunePreview {
  /** Absent if the store cannot count them. */
  readonly orders?: number;
  /** Orders that finished before this time would be deleted. ISO 8601. */
  readonly before: string;
}

/** Deletes orders that finished a number of days ago, and further old data, in bounded steps. */
export async function pruneBook(store: Store, ages: PruneAges, now: number, progress: Progress): Promise<Pruned> {
  const second = Math.floor(now / 1000);
  const before = second - ages.orders * DAY;
  const swept = await repeat(() => store.orders.expire(second, STEP));
  const total = await countOrders(store, before);
  let orders = 0;
  await repeat(async () => {
    const removed = await store.orders.prune({ before, limit: STEP });
    orders += removed;
    progress.at(orders, total);
    return removed;
  });
  const quotes = await repeat(() => store.quotes.prune(now, STEP));
  return {
    swept,
    orders,
    quotes,
    before: new Date(before * 1000).toISOString(),
    // Chain events and documents belong to orders, which are deleted first.
    ...(ages.chainEvents !== undefined && {
      chainEvents: await pruneChainEvents(store, second - ages.chainEvents * DAY),
    }),
    ...(ages.documents !== undefined && { documents: await pruneDocuments(store, second - ages.documents * DAY) }),
    ...(ages.events !== undefined && { events: await pruneEvents(store, now - ages.events * DAY * 1000) }),
  };
}

/** Deletes old notifications, if they have an age, and expired nonces. */
export async function pruneAccounts(
  store: AccountStore,
  { notifications: days }: Pick<PruneAges, 'notifications'>,
  now: number,
): Promise<PrunedAccounts> {
  const nonces = await repeat(() => store.retention.pruneNonces(now, STEP));
  if (days === undefined) return { nonces };
  const request = { before: now - days * DAY * 1000, through: await store.notifications.last(), limit: STEP };
  await recordPrunedBefore(store, request.before);
  return { nonces, notifications: await repeat(() => store.retention.pruneNotifications(request)) };
}

async function pruneEvents({ events, retention }: Store, before: number): Promise<number> {
  const request = { before, through: await events.last(), limit: STEP };
  return repeat(() => retention.pruneEvents(request));
}

const pruneDocuments = ({ retention }: Store, before: number) =>
  repeat(() => retention.pruneDocuments({ before, limit: STEP }));

async function pruneChainEvents({ retention }: Store, before: number): Promise<number> {
  let total = 0;
  let request: ChainEventPruneRequest | undefined = { before, limit: STEP };
  while (request !== undefined) {
    const { removed, next } = await retention.pruneChainEvents(request);
    total += removed;
    request = next === undefined ? undefined : { before, limit: STEP, after: next };
    await yieldToEventLoop();
  }
  return total;
}

/** Repeats a step until it deletes nothing. The event loop runs between two steps. */
async function repeat(step: () => Promise<number>): Promise<number> {
  let total = 0;
  for (let done = await step(); done > 0; done = await step()) {
    total += done;
    await yieldToEventLoop();
  }
  return total;
}
