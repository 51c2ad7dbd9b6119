import { createWorker } from '../concurrency/worker.ts';
import { yieldToEventLoop } from '../concurrency/yield.ts';
import type { AccountStore } from '../ports/account-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { AppendOutcome, NotificationBatch } from '../ports/notification-store.ts';
import type { OrderEventType } from '../ports/order-events.ts';
import { isAfterGap } from '../streams/log-gap.ts';
import type { KnownBook } from './account-books.ts';
import type { TokenLookup } from './notification-messages.ts';
import { findTokens } from './notification-messages.ts';
import { deriveNotifications } from './notification-rules.ts';

/** Log entries that are read in one step. */
const BATCH_SIZE = 200;

/** Entry types whose notification needs the order. */
const TYPES_WITH_ORDER: readonly OrderEventType[] = ['traded', 'cancelled', 'expired'];

/** Entry types that change or read an order's progress marker. */
const TYPES_WITH_MARKER: readonly OrderEventType[] = ['presigned', 'cancelled', 'reverted'];

/** Milliseconds until the log is read again without a signal, or after a failure. */
const INTERVAL = 1_000;

export interface NotificationIndexerContext {
  readonly book: KnownBook;
  readonly store: AccountStore;
  readonly clock: Clock;
  readonly tokens: TokenLookup;
  /** Called after notifications may have been written. */
  readonly onAppended: () => void;
  readonly onFailure: (failure: unknown) => void;
}

/** Creates the failure for entries that were deleted before they were read. */
function createGapError({ feed }: KnownBook, after: number, through: number): Error {
  return new Error(`entries ${after + 1} to ${through} of the ${feed} were deleted before they caused notifications`);
}

/** Appends a batch, and calls `onAppended` if it has changed the log. A call that fails may be stored. */
export async function append(
  { notifications }: Pick<AccountStore, 'notifications'>,
  batch: NotificationBatch,
  onAppended: () => void,
): Promise<AppendOutcome> {
  let isChanged = true;
  try {
    const outcome = await notifications.append(batch);
    isChanged = outcome.status === 'appended' && outcome.changed > 0;
    return outcome;
  } finally {
    if (isChanged) onAppended();
  }
}

/** Writes the notifications that follow from a book's event log. */
export interface NotificationIndexer {
  start(): void;
  /** Waits for the step in progress. */
  stop(): Promise<void>;
}

/**
 * Creates the indexer of one book.
 *
 * The book's log is the outbox: it is written in the same step as the change it describes. The account store moves the
 * cursor and writes the notifications in one step. So each entry counts once, also after a crash and with several
 * processes.
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
  let unwatch = () => {};

  /** Processes one batch. @returns whether the log may have more entries. */
  async function processBatch(): Promise<boolean> {
    const after = await store.notifications.cursor(book.feed);
    const events = await log.after(after ?? 0, BATCH_SIZE);
    const last = events.at(-1);
    if (last === undefined) return false;
    if (after !== null && isAfterGap(after, events)) {
      const pruned = await log.prunedThrough();
      if (pruned > after) onFailure(createGapError(book, after, pruned));
    }
    const uidsWithType = (types: readonly OrderEventType[]) => [
      ...new Set(events.filter(({ type }) => types.includes(type)).map(({ uid }) => uid)),
    ];
    const [results, markers] = await Promise.all([
      orders.getMany(uidsWithType(TYPES_WITH_ORDER)),
      store.notifications.marks(book.feed, uidsWithType(TYPES_WITH_MARKER)),
    ]);
    const loaded = results.flatMap(({ order }) => (order === undefined ? [] : [order]));
    const { changes, marks } = deriveNotifications(events, {
      book,
      orders: new Map(loaded.map((order) => [order.uid, order])),
      getTokens: await findTokens(loaded, (token) => tokens(book.book.chainId, token), onFailure),
      marks: new Map(markers.flatMap(({ key, value }) => (value === null ? [] : [[key, value]]))),
    });
    const outcome = await append(store, { feed: book.feed, after, through: last.id, changes, marks }, onAppended);
    return outcome.status === 'moved' || events.length === BATCH_SIZE;
  }

  const worker = createWorker({
    clock,
    interval: INTERVAL,
    onFailure,
    async run(isStopping) {
      // With a synchronous store a long backlog would block the event loop.
      while ((await processBatch()) && !isStopping()) await yieldToEventLoop();
      return undefined;
    },
  });

  return {
    start() {
      unwatch = log.watch(worker.wake);
      worker.start();
    },
    async stop() {
      unwatch();
      await worker.stop();
    },
  };
}
