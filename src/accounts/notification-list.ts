import { OrderBookError } from '../errors.ts';
import type { AccountStore, NotificationType } from '../ports/account-store.ts';
import type { Announcement } from '../ports/announcements.ts';
import type { Address } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';
import type { ListCursor } from './announcements.ts';
import { merged, toListEntries } from './announcements.ts';

/** Something that an account is told of (contract, "Notification"). */
export interface Notification {
  readonly id: string;
  readonly account: Address;
  /** Where it comes from: an order, or a content system (`cms`). */
  readonly type: NotificationType | 'cms';
  /** For people. */
  readonly message: string;
  /** When its cause happened, ISO 8601 in UTC with milliseconds. */
  readonly timestamp: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Which page of notifications. */
export interface NotificationQuery {
  /** Where the page begins: `next` of the page before. */
  readonly cursor?: string;
  /** Notifications a page, 1 to 1000. Default 1000. */
  readonly limit?: number;
}

/** A page of what an account was told, newest first; `next` is the cursor of the following one. */
export interface NotificationPage {
  readonly notifications: Notification[];
  /** The `cursor` of the next page; absent when this was the last one. */
  readonly next?: string;
}

/** The same as JSON texts. */
export interface RenderedNotifications {
  readonly notifications: readonly string[];
  readonly next?: string;
}

export const LARGEST_NOTIFICATION_PAGE = 1000;

/**
 * Lists an account's notifications, newest first.
 *
 * @param announce what the account is to see besides.
 * @throws OrderBookError `InvalidParameter` for what is no account, no cursor or no limit.
 */
export async function listNotifications(
  store: AccountStore,
  account: string,
  { cursor, limit = LARGEST_NOTIFICATION_PAGE }: NotificationQuery,
  announce: (account: Address) => Promise<readonly Announcement[]>,
): Promise<RenderedNotifications> {
  const owner = requireAccount(account);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > LARGEST_NOTIFICATION_PAGE) {
    throw invalid('limit', `must be a whole number from 1 to ${LARGEST_NOTIFICATION_PAGE}`);
  }
  const after = cursor === undefined ? undefined : parseCursor(cursor);
  // One more than asked for tells whether there is another page.
  const query = { account: owner, limit: limit + 1 };
  const [own, announcements] = await Promise.all([
    store.notifications.list(after === undefined ? query : { ...query, after: { at: after.at, seq: after.seq } }),
    announce(owner),
  ]);
  const found = merged(own, toListEntries(announcements, owner, after), limit + 1);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const notifications = page.map(({ body }) => body);
  if (last === undefined || found.length === page.length) return { notifications };
  const { at, seq, number } = last;
  return { notifications, next: number === undefined ? `${at}-${seq}` : `${at}-${seq}-${number}` };
}

/** @throws OrderBookError `InvalidParameter` when the text is no address. */
export function requireAccount(text: string): Address {
  const account = parseHex(text, 20);
  if (account === undefined) throw invalid('account', 'must be 0x and 40 hex digits');
  return account;
}

function parseCursor(text: string): ListCursor {
  const [, at, seq, number] = /^(\d{1,15})-(\d{1,15})(?:-(\d{1,15}))?$/.exec(text) ?? [];
  if (at === undefined || seq === undefined) throw invalid('cursor', 'must be what an earlier page has given');
  const place = { at: Number(at), seq: Number(seq) };
  return number === undefined ? place : { ...place, number: Number(number) };
}

function invalid(parameter: string, reason: string): OrderBookError {
  return new OrderBookError('InvalidParameter', `${parameter}: ${reason}`, { parameter });
}
