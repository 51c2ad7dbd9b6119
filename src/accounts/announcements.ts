import { formatIsoDate } from '../orders/order-json.ts';
import type { Announcement } from '../ports/announcements.ts';
import type { NotificationCursor, StoredNotification } from '../ports/notification-store.ts';
import type { Address } from '../protocol/hex.ts';
import type { Notification } from './notification.ts';

/** A position in the list. `number` is set for announcements, which follow the notifications with an equal time. */
export interface ListCursor extends NotificationCursor {
  readonly number?: number;
}

/** An entry of the list with its position. */
export interface ListEntry extends ListCursor {
  readonly body: string;
}

/** Converts announcements into list entries after a position. */
export function toListEntries(
  announcements: readonly Announcement[],
  account: Address,
  after: ListCursor | undefined,
): ListEntry[] {
  return announcements
    .map(({ id, at, message, metadata }): ListEntry => {
      const body: Notification = {
        id: `cms-${id}`,
        account,
        type: 'cms',
        message,
        timestamp: formatIsoDate(at),
        metadata,
      };
      return { at, seq: 0, number: id, body: JSON.stringify(body) };
    })
    .filter((entry) => after === undefined || compareNewestFirst(after, entry) < 0);
}

/** Merges both lists, newest first, with at most `limit` entries. */
export function mergeEntries(
  own: readonly StoredNotification[],
  others: readonly ListEntry[],
  limit: number,
): ListEntry[] {
  if (others.length === 0) return own.slice(0, limit);
  return [...own, ...others].sort(compareNewestFirst).slice(0, limit);
}

function compareNewestFirst(a: ListCursor, b: ListCursor): number {
  return b.at - a.at || b.seq - a.seq || (b.number ?? 0) - (a.number ?? 0);
}
