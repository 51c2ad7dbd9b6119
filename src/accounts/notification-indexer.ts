import type { AccountStore } from '../ports/account-store.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import type { OrderEventType } from '../ports/store.ts';
import type { KnownBook } from './account-books.ts';
import type { TokenLookup } from './notification-messages.ts';
import { findTokens } from './notification-messages.ts';
import { deriveNotifications } from './notification-rules.ts';

/** Number of entries per step. */
const BATCH = 200;

/** Types of entries that need their order. */
const TYPES_WITH_ORDER: readonly OrderEventType[] = ['traded', 'cancelled', 'expired'];

/** Types of entries that need the number of presignatures. */
const TYPES_WITH_MARKERS: readonly OrderEventType[] = ['presigned', 'cancelled', 'reverted'];

/** Interval between two checks without a hint, and delay after a failure, in milliseconds. */
const INTERVAL = 1_000;

export interface NotificationIndexerContext {
  readonly book: KnownBook;
  readonly store: AccountStore;
  readonly clock: Clock;
  readonly tokens: TokenLookup;
  /** Called after notifications were written. */
  readonly onAppended: () => void;
  readonly onFailure: (failure: unknown) => void;
}

/** The worker that turns a book's log into notifications. */
export interface NotificationIndexer {
  start(): void;
  /** Waits for a running step. */
  stop(): Promise<void>;
}

/**
 * Creates a notification indexer. The book's log is the outbox, because its entries are written together with their
 * changes. The cursor is stored in the same step as the derived notifications. So each entry is processed exactly once,
 * across crashes and concurrent processes.
 */
export function createNotificationIndexer({
  book,
  store,
  clock,
  tokens,
  onAppended,
  onFailure,
}: NotificationIndexerContext): NotificationIndexer {
  const { log, orders } = book.book;
  let running: Promise<void> | undefined;
  let again = false;
  let stopped = true;
  let cancel: Cancel = () => {};
  let unwatch = () => {};

  /** Processes one batch. Returns whether there may be more. */
  async function step(): Promise<boolean> {
    const after = await store.notifications.cursor(book.feed);
    const events = await log.after(after ?? 0, BATCH);
    const last = events.at(-1);
    if (last === undefined) return false;
    const getUids = (types: readonly OrderEventType[]) => [
      ...new Set(events.filter(({ type }) => types.includes(type)).map(({ uid }) => uid)),
    ];
    const [results, marks] = await Promise.all([
      orders.getMany(getUids(TYPES_WITH_ORDER)),
      store.notifications.marks(book.feed, getUids(TYPES_WITH_MARKERS)),
    ]);
    const existingOrders = results.flatMap(({ order }) => (order === undefined ? [] : [order]));
    const { changes, marks: changed } = deriveNotifications(events, {
      book,
      orders: new Map(existingOrders.map((order) => [order.uid, order])),
      getTokens: await findTokens(existingOrders, (token) => tokens(book.book.chainId, token), onFailure),
      marks: new Map(marks.flatMap(({ key, value }) => (value === null ? [] : [[key, value]]))),
    });
    const outcome = await store.notifications.append({
      feed: book.feed,
      after,
      through: last.id,
      changes,
      marks: changed,
    });
    if (outcome.status === 'appended' && outcome.changed > 0) onAppended();
    return outcome.status === 'moved' || events.length === BATCH;
  }

  async function run(): Promise<void> {
    try {
      do {
        again = false;
        while (await step()) if (stopped) return;
      } while (again && !stopped);
    } catch (failure) {
      onFailure(failure);
    }
  }

  function wake(): void {
    again = true;
    if (stopped || running !== undefined) return;
    cancel();
    running = run().finally(() => {
      running = undefined;
      if (stopped) return;
      // A hint that arrived after the last step must not wait for the interval.
      if (again) wake();
      else cancel = clock.after(INTERVAL, wake);
    });
  }

  return {
    start() {
      stopped = false;
      unwatch = log.watch(wake);
      wake();
    },
    async stop() {
      stopped = true;
      unwatch();
      cancel();
      await running;
    },
  };
}
