import type { AccountLogEntry, AccountStore } from '../ports/account-store.ts';
import type { Address } from '../protocol/hex.ts';
import type { StreamEvent, StreamItem, StreamLog } from '../streams/broadcaster.ts';
import type { Notification } from './notification-list.ts';

/** What a stream of notifications says. `id` is a place in the account log, to come back to. */
export type NotificationStreamEvent =
  | { readonly type: 'notification'; readonly id: number; readonly notification: Notification }
  /** A notification that was told has turned out not to be: the block that it came from was taken back. */
  | { readonly type: 'withdrawn'; readonly id: number; readonly notification: string }
  /** The reader was too slow, or away for too long: what the log says from `from` to `to` is left out. */
  | { readonly type: 'gap'; readonly from: number; readonly to: number };

const BATCH = 500;

/** The account log as its readers follow it, by account. */
export function notificationLog(store: AccountStore, watch: (hint: () => void) => () => void): StreamLog {
  const { notifications } = store;
  return {
    last: () => notifications.last(),
    watch,
    async follow(after) {
      const entries = await notifications.after(after, BATCH);
      const keysOf = entries.map(({ account }) => [account]);
      return { items: entries.map(itemOf), keysOf, through: entries.at(-1)?.id ?? after };
    },
    async resume(after, account, told) {
      const entries = await notifications.after(after, BATCH, account as Address); // its readers' key
      const last = entries.at(-1)?.id ?? after;
      // A page that is not full has everything of this account, up to now at least.
      return { items: entries.map(itemOf), through: entries.length === BATCH ? last : Math.max(told, last) };
    },
  };
}

function itemOf({ id, type, notification, body }: AccountLogEntry): StreamItem {
  const data = type === 'notification' ? body : JSON.stringify({ id: notification });
  return { type: 'item', id, event: type, data };
}

/** Makes objects of what a stream says. */
export function notificationStreamEvent(event: StreamEvent): NotificationStreamEvent {
  if (event.type === 'gap') return event;
  const { id, data } = event;
  // Both were rendered from such values.
  if (event.event === 'withdrawn') {
    return { type: 'withdrawn', id, notification: (JSON.parse(data) as { id: string }).id };
  }
  return { type: 'notification', id, notification: JSON.parse(data) as Notification };
}
