import type { AccountStore } from '../ports/account-store.ts';
import type { AccountLogEntry } from '../ports/notification-store.ts';
import type { Address } from '../protocol/hex.ts';
import { findGapEnd } from '../records/event-log.ts';
import type { StreamEvent, StreamItem, StreamLog } from '../streams/index.ts';
import type { Notification } from './notification.ts';

/** An event of a notification stream. `id` is a position in the account log, from which a stream can resume. */
export type NotificationStreamEvent =
  | { readonly type: 'notification'; readonly id: number; readonly notification: Notification }
  /** A notification is withdrawn, because its block was rolled back. */
  | { readonly type: 'withdrawn'; readonly id: number; readonly notification: string }
  /** The reader was too slow or absent for too long: the log entries from `from` to `to` are omitted. */
  | { readonly type: 'gap'; readonly from: number; readonly to: number };

const BATCH = 500;

/** Creates the log of the stream broadcaster from the account log, with the account as key. */
export function createNotificationLog(store: AccountStore, watch: (hint: () => void) => () => void): StreamLog {
  const { notifications, retention } = store;
  return {
    pageSize: BATCH,
    last: () => notifications.last(),
    prunedThrough: () => retention.prunedThrough(),
    watch,
    async follow(after) {
      const entries = await notifications.after(after, BATCH);
      const keysOf = entries.map(({ account }) => [account]);
      const through = entries.at(-1)?.id ?? after;
      return { items: entries.map(toStreamItem), keysOf, through, gapEnd: findGapEnd(after, entries) };
    },
    async resume(after, account, delivered) {
      const entries = await notifications.after(after, BATCH, account as Address); // the key is an account
      const last = entries.at(-1)?.id ?? after;
      // A page that is not full contains all entries of this account up to now.
      return { items: entries.map(toStreamItem), through: entries.length === BATCH ? last : Math.max(delivered, last) };
    },
  };
}

function toStreamItem({ id, type, notification, body }: AccountLogEntry): StreamItem {
  const data = type === 'notification' ? body : JSON.stringify({ id: notification });
  return { type: 'item', id, event: type, data };
}

/** Parses a stream event. */
export function toNotificationStreamEvent(event: StreamEvent): NotificationStreamEvent {
  if (event.type === 'gap') return event;
  const { id, data } = event;
  // Both are JSON of these types.
  if (event.event === 'withdrawn') {
    return { type: 'withdrawn', id, notification: (JSON.parse(data) as { id: string }).id };
  }
  return { type: 'notification', id, notification: JSON.parse(data) as Notification };
}
