import type { AccountStore } from '../ports/account-store.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import type { OrderEventType } from '../ports/store.ts';
import type { KnownBook } from './account-books.ts';
import type { TokenLookup } from './notification-messages.ts';
import { findTokens } from './notification-messages.ts';
import { deriveNotifications } from './notification-rules.ts';

/** How many entries are read at once. */
const BATCH = 200;

/** Entries that need their order to be told. */
const TELLING: readonly OrderEventType[] = ['traded', 'cancelled', 'expired'];

/** Entries that count, or ask, how often an order was signed on chain. */
const MARKED: readonly OrderEventType[] = ['presigned', 'cancelled', 'reverted'];

/** Milliseconds after which a book is looked at though nobody said there was something new, or after a failure. */
const INTERVAL = 1_000;

export interface NotificationIndexerContext {
  readonly book: KnownBook;
  readonly store: AccountStore;
  readonly clock: Clock;
  readonly tokens: TokenLookup;
  /** Notifications may have been written. */
  readonly onAppended: () => void;
  readonly onFailure: (failure: unknown) => void;
}

/** Turns a book's log into notifications, for as long as it runs. */
export interface NotificationIndexer {
  start(): void;
  /** Waits for a step that is running. */
  stop(): Promise<void>;
}

/**
 * Makes a follower. The book's log was written together with what it tells, so it is the outbox; the place up to which it
 * has been worked off is kept with what came of it, and moves only together with that. Whatever dies in between, and
 * whoever else follows the same book: each entry counts once.
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

  /** @returns whether there may be more. */
  async function step(): Promise<boolean> {
    const after = await store.notifications.cursor(book.feed);
    const events = await log.after(after ?? 0, BATCH);
    const last = events.at(-1);
    if (last === undefined) return false;
    const uidsOf = (types: readonly OrderEventType[]) => [
      ...new Set(events.filter(({ type }) => types.includes(type)).map(({ uid }) => uid)),
    ];
    const [results, marks] = await Promise.all([
      orders.getMany(uidsOf(TELLING)),
      store.notifications.marks(book.feed, uidsOf(MARKED)),
    ]);
    const found = results.flatMap(({ order }) => (order === undefined ? [] : [order]));
    const { changes, marks: changed } = deriveNotifications(events, {
      book,
      orders: new Map(found.map((order) => [order.uid, order])),
      tokensOf: await findTokens(found, (token) => tokens(book.book.chainId, token), onFailure),
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

  async function work(): Promise<void> {
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
    running = work().finally(() => {
      running = undefined;
      if (stopped) return;
      // Who has said so after the last look is not to wait for the next one.
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
