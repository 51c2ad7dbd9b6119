import { assertNotAborted, countRows, type ReadOptions } from '../concurrency/abort.ts';
import { nextStep } from '../concurrency/steps.ts';
import { OrderBookError } from '../errors.ts';
import type { AccountStore } from '../ports/account-store.ts';
import type { Announcement } from '../ports/announcements.ts';
import type { StoredNotification } from '../ports/notification-store.ts';
import type { Address } from '../protocol/hex.ts';
import { assertKnownFilters, getFilterNames } from '../validation/options.ts';
import { requireAccount } from '../validation/parameters.ts';
import { type ListCursor, mergeEntries, toListEntries } from './announcements.ts';
import type { Notification } from './notification.ts';

/** The page of notifications to read. */
export interface NotificationQuery {
  /** Start of the page: `next` of the previous page. */
  readonly cursor?: string;
  /** Page size, 1 to 1000. Default: 1000. */
  readonly limit?: number;
}

/** A page of notifications, newest first. */
export interface NotificationPage {
  readonly notifications: Notification[];
  /** The `cursor` of the next page; absent on the last page. */
  readonly next?: string;
}

/** Announcements for an account. */
export interface Announced {
  readonly announcements: readonly Announcement[];
  /** Whether the content system has failed, so that some may be missing. */
  readonly failed: boolean;
}

/** A page of notifications as JSON texts. */
export interface RenderedNotifications {
  /** Whether announcements may be missing, because the content system has failed. */
  readonly isIncomplete: boolean;
  readonly notifications: readonly string[];
  readonly next?: string;
}

export const MAX_NOTIFICATION_LIMIT = 1000;

/** Notifications that are read in one tick of the event loop. */
const STEP = 128;

/**
 * Lists an account's notifications, newest first.
 *
 * @param announce - Returns the announcements for the account.
 * @throws OrderBookError `InvalidParameter` for an invalid account, cursor or limit.
 */
export async function listNotifications(
  store: AccountStore,
  account: string,
  query: NotificationQuery,
  announce: (account: Address) => Promise<Announced>,
  options: ReadOptions = {},
): Promise<RenderedNotifications> {
  assertKnownFilters(getFilterNames(query), ['cursor', 'limit']);
  const { cursor, limit = MAX_NOTIFICATION_LIMIT } = query;
  const owner = requireAccount(account);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_NOTIFICATION_LIMIT) {
    throw invalid('limit', `must be an integer from 1 to ${MAX_NOTIFICATION_LIMIT}`);
  }
  const after = cursor === undefined ? undefined : parseCursor(cursor);
  const [own, { announcements, failed: isIncomplete }] = await Promise.all([
    readSteps(store, owner, limit + 1, after, options), // one extra entry shows whether there is another page
    announce(owner),
  ]);
  const entries = mergeEntries(own, toListEntries(announcements, owner, after), limit + 1);
  const shown = entries.slice(0, limit);
  const last = shown.at(-1);
  const notifications = shown.map(({ body }) => body);
  if (last === undefined || entries.length === shown.length) return { notifications, isIncomplete };
  const { at, seq, number } = last;
  return { notifications, isIncomplete, next: number === undefined ? `${at}-${seq}` : `${at}-${seq}-${number}` };
}

/** Reads the notifications of an account after a position, newest first. */
async function readSteps(
  { notifications }: AccountStore,
  account: Address,
  count: number,
  after: ListCursor | undefined,
  options: ReadOptions,
): Promise<readonly StoredNotification[]> {
  const found: StoredNotification[] = [];
  for (let position = after; ; position = found.at(-1)) {
    await nextStep(options);
    assertNotAborted(options.signal);
    const query = { account, limit: Math.min(STEP, count - found.length) };
    const step = position === undefined ? query : { ...query, after: { at: position.at, seq: position.seq } };
    const part = await notifications.list(step);
    countRows(options, part.length);
    found.push(...part);
    if (part.length < query.limit || found.length === count) return found;
  }
}

function parseCursor(text: string): ListCursor {
  const [, at, seq, number] = /^(\d{1,15})-(\d{1,15})(?:-(\d{1,15}))?$/.exec(text) ?? [];
  if (at === undefined || seq === undefined) throw invalid('cursor', 'must be the `next` value of a page');
  const position = { at: Number(at), seq: Number(seq) };
  return number === undefined ? position : { ...position, number: Number(number) };
}

function invalid(parameter: string, reason: string): OrderBookError {
  return new OrderBookError('InvalidParameter', `${parameter}: ${reason}`, { parameter });
}
