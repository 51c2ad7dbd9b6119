import type { ReadOptions } from '../../concurrency/abort.ts';
import { nextStep } from '../../concurrency/steps.ts';
import { keccak256Text } from '../../crypto/keccak.ts';
import type { Notification, NotificationQuery } from '../../notifications/index.ts';
import { bytesToHex } from '../../protocol/hex.ts';
import { READ, readCost, readCount, resumedRows } from '../cost.ts';
import { divide, renderPages } from '../json-array.ts';
import { jsonResponse, jsonText } from '../message.ts';
import { nextPageLink } from '../page-link.ts';
import { queryText } from '../query.ts';
import { toStreamOptions } from '../route.ts';
import { lastEventId, resumableEventStream } from '../sse.ts';
import type { AccountRoute } from './route.ts';

/**
 * Lists the notifications of an account, newest first. Without `limit` the response has all of them. With `limit` it
 * has one page, and `Link` has the address of the next page.
 */
const listNotifications: AccountRoute = {
  method: 'GET',
  path: '/accounts/:account/notifications',
  cost: readCost('notifications', 'notifications of the account, or page size', (query) =>
    query.has('limit') ? readCount(query, 'limit', 1) : undefined,
  ),
  async handle({ accounts, param, query, work }) {
    const account = param('account');
    const request = pageQuery(query);
    const list = (cursor: NotificationQuery) => accounts.notifications.rendered.list(account, cursor, work);
    const page = await list(request);
    // A cache must not keep a list that lacks announcements.
    const caching = page.isIncomplete ? {} : CACHE_HEADERS;
    const isWhole = request.limit === undefined;
    const parts = divideAll(page, isWhole ? (cursor) => list({ cursor }) : undefined, work);
    const body = await renderPages(parts, (texts) => texts.join(','));
    return jsonText(200, body, { ...caching, ...(isWhole ? {} : nextPageLink(query, page.next)) });
  },
};

/** Streams notifications as `notification` and `withdrawn` events. Resumes after `Last-Event-ID`. */
const streamNotifications: AccountRoute = {
  method: 'GET',
  path: '/accounts/:account/notifications/stream',
  cost: readCost(
    'notifications since `Last-Event-ID`',
    'notifications of the account since `Last-Event-ID`',
    resumedRows,
  ),
  stream: true,
  async handle({ accounts, param, request, work }) {
    const options = toStreamOptions(request, lastEventId(request), work);
    const stream = await accounts.notifications.rendered.stream(param('account'), options);
    return resumableEventStream(stream, accounts.clock);
  },
};

/** Lists the newest notifications in the form of a content system, which the front ends of production read. */
const listContent: AccountRoute = {
  method: 'GET',
  path: '/notification-list/:account',
  cost: READ,
  async handle({ accounts, param, work }) {
    await nextStep(work);
    const { notifications } = await accounts.notifications.list(param('account'), { limit: CONTENT_LIMIT });
    return jsonResponse(200, notifications.map(toContent), { 'cache-control': 'no-cache' });
  },
};

export const NOTIFICATION_ROUTES: readonly AccountRoute[] = [listNotifications, streamNotifications, listContent];

/** Maximum number of notifications in the form of a content system, which has no pages. */
const CONTENT_LIMIT = 100;

function toContent({ id, account, type, message, timestamp }: Notification) {
  const words = type === 'cms' ? 'announcement' : type.replaceAll('_', ' ');
  return {
    // The ids of content systems are numbers: 48 bits of a hash.
    id: Number(bytesToHex(keccak256Text(id)).slice(0, 14)),
    account,
    title: words.charAt(0).toUpperCase() + words.slice(1),
    description: message,
    createdAt: timestamp,
    url: null,
    thumbnail: null,
  };
}

const CACHE_HEADERS = { 'cache-control': 'public, max-age=300' };

type Page = { readonly notifications: readonly string[]; readonly next?: string };

/** Divides a page into parts, and the pages that follow it. @param read - Absent: only this page. */
async function* divideAll(
  first: Page,
  read: ((cursor: string) => Promise<Page>) | undefined,
  work: ReadOptions,
): AsyncGenerator<readonly string[]> {
  for (let page: Page | undefined = first; page !== undefined; ) {
    yield* divide(page.notifications, work);
    page = page.next === undefined ? undefined : await read?.(page.next);
  }
}

function pageQuery(query: URLSearchParams): NotificationQuery {
  const cursor = queryText(query, 'cursor');
  const limit = queryText(query, 'limit');
  return {
    ...(cursor !== undefined && { cursor }),
    // `list` rejects a limit that is not a number.
    ...(limit !== undefined && { limit: /^\d{1,9}$/.test(limit) ? Number(limit) : Number.NaN }),
  };
}
