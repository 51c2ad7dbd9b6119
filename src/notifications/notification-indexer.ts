import type { KnownBook } from '../account-tools/account-books.ts';
import type { AccountTools } from '../account-tools/account-tools.ts';
import { readPrunedBefore } from '../account-tools/pruned-notifications.ts';
import { findTokens } from '../account-tools/token-labels.ts';
import { createClockWatch } from '../concurrency/clock-watch.ts';
import { createWorker } from '../concurrency/lifecycle.ts';
import type { AccountStore } from '../ports/account-store.ts';
import { yieldToEventLoop } from '../ports/clock.ts';
import type {
  AppendOutcome,
  NotificationBatch,
  NotificationChange,
  ProgressMarker,
} from '../ports/notification-store.ts';
import type { OrderEventType } from '../ports/order-events.ts';
import type { StoredEvent } from '../ports/store.ts';
import { isAfterGap } from '../records/event-log.ts';
import { createHashedId } from './hashed-ids.ts';
import {
  type CorrectionInputs,
  type DerivedNotifications,
  deriveNotifications,
  getCorrectionKey,
  isCorrectable,
} from './notification-rules.ts';

/** Log entries that are read in one step. */
const BATCH_SIZE = 200;

/** Entry types whose notification needs the order. */
const TYPES_WITH_ORDER: readonly OrderEventType[] = ['traded', 'cancelled', 'expired'];

/** Entry types that change or read an order's progress marker. */
const TYPES_WITH_MARKER: readonly OrderEventType[] = ['presigned', 'cancelled', 'reverted'];

/** Milliseconds until the log is read again without a signal, or after a failure. */
const INTERVAL = 1_000;

/** Milliseconds after a jump of the clock in which no notification counts as old. */
const JUMP_PAUSE = 600_000;

/** Key of the progress marker that identifies the entry at the cursor. */
const POSITION = 'position';

/** Key of the progress marker of the last restart: the end of the log then. All other keys are of orders and fills. */
const RESTART = 'restart';

/** Identifies an entry of a log, so that a log that was made anew is detected. */
function createPosition({ id, type, uid, at }: StoredEvent): ProgressMarker {
  return { key: POSITION, value: `${id} ${createHashedId([type, uid, at])}` };
}

const getKey = ({ key }: ProgressMarker) => key;

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

/**
 * Creates the indexer of one book, which writes the notifications that follow from its event log.
 *
 * The book's log is the outbox: it is written in the same step as the change it describes. The account store moves the
 * cursor and writes the notifications in one step. So each entry counts once, also after a crash and with several
 * processes.
 *
 * A marker identifies the entry at the cursor. A log without that entry was made anew or restored from an older copy.
 * It is then read from its start, and notifications that exist are not created again.
 */
export function createNotificationIndexer({
  book,
  store,
  clock,
  tokens,
  retention,
  revertedNotifications,
  onAppended,
  onFailure,
}: Pick<AccountTools, 'store' | 'clock' | 'tokens' | 'onFailure'> & {
  readonly book: KnownBook;
  /** Milliseconds that notifications are kept. An older cause creates none. `undefined`: without limit. */
  readonly retention: number | undefined;
  readonly revertedNotifications: boolean;
  /** Called after notifications may have been written. */
  readonly onAppended: () => void;
}) {
  const { log } = book.book;
  const { feed } = book;
  const clockWatch = createClockWatch(clock);
  let isVerified = false;
  /** The cursor after the last batch of this process, and what `readRestart` has returned then. */
  let position: number | undefined;
  let repeatedThrough = 0;

  /** Returns whether the log has the entry that was read last, as far as it is known. */
  async function isContinued(after: number, atCursor: StoredEvent | undefined): Promise<boolean> {
    if (atCursor === undefined) return false;
    // Retention has deleted the entry, or the log has begun a new log epoch.
    if (isVerified || atCursor.id > after) return true;
    const [marker] = await store.notifications.marks(feed, [POSITION]);
    isVerified = true;
    // Another process may have moved the cursor.
    return !marker?.value?.startsWith(`${after} `) || marker.value === createPosition(atCursor).value;
  }

  /** Returns the id up to which entries have been read before. */
  async function readRestart(): Promise<number> {
    const [marker] = await store.notifications.marks(feed, [RESTART]);
    return Number(marker?.value ?? 0);
  }

  /**
   * Moves the cursor to the start of the log. Presignatures are counted anew. Fills and cancellations with corrections
   * are compared with their last entry of the log.
   */
  async function restart(after: number, isStopping: () => boolean): Promise<void> {
    onFailure(new Error(`the ${feed} does not have the entry ${after} that was read; it is read from its start`));
    const lasts = new Map<string, StoredEvent>();
    const presigned = new Set<string>();
    let end = 0;
    for (let page = await log.after(0, BATCH_SIZE); page.length > 0; page = await log.after(end, BATCH_SIZE)) {
      const keys = new Set(revertedNotifications ? page.filter(isCorrectable).map(getCorrectionKey) : []);
      const known = new Set(keys.size === 0 ? [] : (await store.notifications.marks(feed, [...keys])).map(getKey));
      for (const event of page) {
        if (event.type === 'presigned') presigned.add(event.uid);
        if (isCorrectable(event) && known.has(getCorrectionKey(event))) lasts.set(getCorrectionKey(event), event);
        end = event.id;
      }
      await yieldToEventLoop();
      if (isStopping()) return; // the next start begins again
    }
    const tools = { book, store, tokens, onFailure };
    const { changes, marks } = await derive([...lasts.values()], tools, { revertedNotifications, isRepeated: false });
    const anew = [...presigned].map((key) => ({ key, value: null }));
    const restarted = [
      { key: POSITION, value: null },
      { key: RESTART, value: String(end) },
    ];
    await append(store, { feed, after, through: 0, changes, marks: [...marks, ...anew, ...restarted] }, onAppended);
  }

  /** Leaves out what retention has deleted, or would delete. */
  async function select(changes: readonly NotificationChange[], isRepeated: boolean): Promise<NotificationChange[]> {
    // Retention deletes the rest of what a clock that has jumped would lose.
    const oldest = retention === undefined || clockWatch.hasJumped(JUMP_PAUSE) ? 0 : clock.now() - retention;
    const pruned = isRepeated ? await readPrunedBefore(store) : 0;
    return changes.filter((change) => change.type === 'withdraw' || change.notification.at >= Math.max(oldest, pruned));
  }

  /** Processes one batch. @returns whether the log may have more entries. */
  async function processBatch(isStopping: () => boolean): Promise<boolean> {
    const after = await store.notifications.cursor(feed);
    // The first entry of the page is the one at the cursor.
    const page = await log.after(Math.max(0, (after ?? 0) - 1), BATCH_SIZE + 1);
    if (after !== null && after > 0 && !(await isContinued(after, page[0]))) {
      await restart(after, isStopping);
      return true;
    }
    const unread = page.filter(({ id }) => id > (after ?? 0)).slice(0, BATCH_SIZE);
    const [first] = unread;
    if (first === undefined) return false;
    // Another process may have moved the cursor.
    if (after !== null && after !== position) repeatedThrough = await readRestart();
    // The account knows of entries that are read again. Deliveries wait for the end, which may withdraw them.
    const isRepeated = first.id <= repeatedThrough;
    const events = isRepeated ? unread.filter(({ id }) => id <= repeatedThrough) : unread;
    const last = events.at(-1) ?? first;
    if (after !== null && isAfterGap(after, events)) {
      const pruned = await log.prunedThrough();
      if (pruned > after) onFailure(createGapError(book, after, pruned));
    }
    const tools = { book, store, tokens, onFailure };
    const { changes, marks } = await derive(events, tools, { revertedNotifications, isRepeated });
    const batch = {
      feed,
      after,
      through: last.id,
      changes: await select(changes, isRepeated),
      marks: [...marks, createPosition(last)],
    };
    const outcome = await append(store, batch, isRepeated && last.id < repeatedThrough ? () => {} : onAppended);
    position = outcome.status === 'moved' ? undefined : last.id;
    return outcome.status === 'moved' || isRepeated || events.length === BATCH_SIZE;
  }

  const worker = createWorker({
    clock,
    interval: INTERVAL,
    watch: (wake) => log.watch(wake),
    onFailure,
    async run(isStopping) {
      // With a synchronous store a long backlog would block the event loop.
      while ((await processBatch(isStopping)) && !isStopping()) await yieldToEventLoop();
      return undefined;
    },
  });

  return {
    start(): void {
      isVerified = false;
      position = undefined;
      worker.start();
    },
    /** Waits for the step in progress. */
    stop: worker.stop,
  };
}

/** Derives the notifications of log entries, with their orders, tokens and progress markers. */
async function derive(
  events: readonly StoredEvent[],
  {
    book,
    store,
    tokens,
    onFailure,
  }: Pick<AccountTools, 'store' | 'tokens' | 'onFailure'> & { readonly book: KnownBook },
  { revertedNotifications, isRepeated }: Required<Pick<CorrectionInputs, 'revertedNotifications' | 'isRepeated'>>,
): Promise<DerivedNotifications> {
  const { chainId, orders } = book.book;
  const uidsWithType = (types: readonly OrderEventType[]) => [
    ...new Set(events.filter(({ type }) => types.includes(type)).map(({ uid }) => uid)),
  ];
  const corrected = revertedNotifications ? events.filter(isCorrectable).map(getCorrectionKey) : [];
  const [results, markers] = await Promise.all([
    orders.getMany(uidsWithType(revertedNotifications ? [...TYPES_WITH_ORDER, 'reverted'] : TYPES_WITH_ORDER)),
    store.notifications.marks(book.feed, [...uidsWithType(TYPES_WITH_MARKER), ...new Set(corrected)]),
  ]);
  const loaded = results.flatMap(({ order }) => (order === undefined ? [] : [order]));
  return deriveNotifications(events, {
    book,
    orders: new Map(loaded.map((order) => [order.uid, order])),
    getTokens: await findTokens(loaded, (token) => tokens(chainId, token), onFailure),
    marks: new Map(markers.flatMap(({ key, value }) => (value === null ? [] : [[key, value]]))),
    revertedNotifications,
    isRepeated,
  });
}
