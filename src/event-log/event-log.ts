import type { Store } from '../ports/store.ts';
import type { EventLog } from '../records/event-log.ts';

/** Creates the log of a book. `assertStarted` throws a `StoreError` unless the book is started. */
export function createEventLog(
  { events, retention }: Pick<Store, 'events' | 'retention'>,
  watch: EventLog['watch'],
  assertStarted: () => void,
): EventLog {
  return {
    async last() {
      assertStarted();
      return events.last();
    },
    async after(id, limit) {
      assertStarted();
      return events.after(id, limit);
    },
    async prunedThrough() {
      assertStarted();
      return retention.prunedThrough();
    },
    watch,
  };
}
