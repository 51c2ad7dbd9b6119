import { formatIsoDate } from '../orders/order-json.ts';
import type { NotificationCursor, StoredNotification } from '../ports/account-store.ts';
import type { Announcement } from '../ports/announcements.ts';
import type { Address } from '../protocol/hex.ts';
import type { Notification } from './notification-list.ts';

/** A place in the list: `number` is that of an announcement, which stand behind what else is of their moment. */
export interface ListCursor extends NotificationCursor {
  readonly number?: number;
}

/** An entry of the list, with its place. */
export interface ListEntry extends ListCursor {
  readonly body: string;
}

/** Announcements as entries of the list behind a place. */
export function toListEntries(
  announcements: readonly Announcement[],
  account: Address,
  after: ListCursor | undefined,
): ListEntry[] {
  return announcements
    .map(({ id, at, message, metadata }): ListEntry => {
      const body: Notification = { id: `cms-${id}`, account, type: 'cms', message, timestamp: formatIsoDate(at), metadata };
      return { at, seq: 0, number: id, body: JSON.stringify(body) };
    })
    .filter((entry) => after === undefined || newestFirst(after, entry) < 0);
}

/** Both lists as one, newest first, of `limit` entries at most. */
export function merged(own: readonly StoredNotification[], others: readonly ListEntry[], limit: number): ListEntry[] {
  if (others.length === 0) return own.slice(0, limit);
  return [...own, ...others].sort(newestFirst).slice(0, limit);
}

function newestFirst(a: ListCursor, b: ListCursor): number {
  return b.at - a.at || b.seq - a.seq || (b.number ?? 0) - (a.number ?? 0);
}
