import type { Announcement } from '../ports/announcements.ts';
import type { NotificationCursor, StoredNotification } from '../ports/notification-store.ts';
import { formatValue } from '../protocol/format-value.ts';
import type { Address } from '../protocol/hex.ts';
import { formatIsoDate } from '../records/order-json.ts';
import type { Notification } from './notification.ts';

/** A position in the list. `number` is set for announcements, which follow the notifications with an equal time. */
export interface ListCursor extends NotificationCursor {
  readonly number?: number;
}

/** An entry of the list with its position. */
export interface ListEntry extends ListCursor {
  readonly body: string;
}

/** Maximum of an id and of a time: a cursor has 15 digits. */
const MAX_NUMBER = 999_999_999_999_999;

/**
 * Returns the valid announcements of a source, each id once. Malformed ones are reported: one of them would make the
 * whole list of an account unreadable.
 *
 * @throws TypeError if the result is not a list.
 */
export function selectAnnouncements(
  result: readonly Announcement[],
  report: (failure: unknown) => void,
): readonly Announcement[] {
  if (!Array.isArray(result)) throw new TypeError(`the announcements must be a list, got ${formatValue(result)}`);
  const valid = result.filter(isAnnouncement);
  const malformed = result.length - valid.length;
  if (malformed > 0) report(new TypeError(`${malformed} announcements have a malformed id, at, message or metadata`));
  return [...new Map(valid.map((each) => [each.id, each])).values()];
}

function isAnnouncement(value: unknown): value is Announcement {
  const { id, at, message, metadata } = Object(value) as { readonly [K in keyof Announcement]?: unknown };
  const isNumber = (number: unknown) =>
    Number.isSafeInteger(number) && Number(number) >= 0 && Number(number) <= MAX_NUMBER;
  return isNumber(id) && isNumber(at) && typeof message === 'string' && isJsonObject(metadata);
}

function isJsonObject(value: unknown): boolean {
  if (typeof value !== 'object' || Array.isArray(value)) return false;
  try {
    return JSON.stringify(value).startsWith('{');
  } catch {
    return false; // it has a cycle or a bigint
  }
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
