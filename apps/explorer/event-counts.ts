import type { OrderBook } from 'intentbook';

/** Counts of the event log. */
export interface EventCounts {
  /** The present, in milliseconds since 1970. */
  readonly now: number;
  /** Minutes since 1970 with created orders and fills, ascending. Minutes without either are left out. */
  readonly minutes: readonly { readonly minute: number; readonly created: number; readonly fills: number }[];
  /** Times from the submission of an order to the fill that completes it, in milliseconds, ascending. */
  readonly fillTimes: readonly number[];
}

/** Log entries that are read in one step. */
const BATCH = 500;

/** Log entries that are read in one call, so that a call ends soon after a long pause. */
const ENTRIES_PER_CALL = 10_000;

/** Minutes that are counted. */
const MINUTES = 24 * 60;

/** Orders whose submission is remembered, and fill times that are kept. */
const MAX_ORDERS = 10_000;
const MAX_FILL_TIMES = 1_000;

const MINUTE = 60_000;

/** Creates a counter that follows the log of a book. Each call reads only the entries since the last one. */
export function createEventCounts(book: OrderBook): { read(): Promise<EventCounts> } {
  const minutes = new Map<number, { created: number; fills: number }>();
  const createdAt = new Map<string, number>();
  const fillTimes: number[] = [];
  let position: number | undefined;

  type Entry = Awaited<ReturnType<OrderBook['log']['after']>>[number];

  function count({ type, uid, at, cause }: Entry): void {
    const minute = Math.floor(at / MINUTE);
    const counts = minutes.get(minute) ?? { created: 0, fills: 0 };
    if (type === 'created') {
      counts.created++;
      createdAt.set(uid, at);
      const [oldest = ''] = createdAt.keys();
      if (createdAt.size > MAX_ORDERS) createdAt.delete(oldest);
    } else if (type === 'traded') {
      counts.fills++;
      const since = createdAt.get(uid);
      if (cause?.trade?.completes && since !== undefined) fillTimes.push(Math.max(0, at - since));
      if (fillTimes.length > MAX_FILL_TIMES) fillTimes.shift();
    } else return;
    minutes.set(minute, counts);
  }

  async function read(): Promise<EventCounts> {
    const last = await book.log.last();
    // A log that was replaced, as after a restore, is counted from the beginning.
    if (position === undefined || position > last) minutes.clear();
    if (position === undefined || position > last || last - position > ENTRIES_PER_CALL) {
      // The newest entries count, also after a long pause.
      createdAt.clear();
      fillTimes.length = 0;
      position = Math.max(0, last - ENTRIES_PER_CALL);
    }
    for (let read = 0; read < ENTRIES_PER_CALL; read += BATCH) {
      const entries = await book.log.after(position, BATCH);
      for (const entry of entries) count(entry);
      position = entries.at(-1)?.id ?? position;
      if (entries.length < BATCH) break;
    }
    const now = book.clock.now();
    const first = Math.floor(now / MINUTE) - MINUTES;
    for (const minute of minutes.keys()) if (minute <= first) minutes.delete(minute);
    return {
      now,
      minutes: [...minutes].map(([minute, counts]) => ({ minute, ...counts })).sort((a, b) => a.minute - b.minute),
      fillTimes: [...fillTimes].sort((a, b) => a - b),
    };
  }

  let reading: Promise<EventCounts> | undefined;

  return {
    // Concurrent calls share one read, which would otherwise count the same entries twice.
    read() {
      reading ??= read().finally(() => {
        reading = undefined;
      });
      return reading;
    },
  };
}
