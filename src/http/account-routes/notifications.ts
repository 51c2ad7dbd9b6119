import type { NotificationQuery } from '../../accounts/notification-list.ts';
import { OrderBookError } from '../../errors.ts';
import { durableEventStream, lastEventId } from '../durable-stream.ts';
import { jsonText } from '../response.ts';
import type { AccountRoute } from './route.ts';

/**
 * Lists what an account was told, newest first (contract, "GET {bff_url}/accounts/{account}/notifications"). Without
 * `limit` all of it; with, a page, and the next one's address in `Link`.
 */
export const listNotifications: AccountRoute = {
  method: 'GET',
  path: '/accounts/:account/notifications',
  async handle({ accounts, param, query }) {
    const account = param('account');
    const { list } = accounts.notifications.rendered;
    const asked = pageOf(query);
    const page = await list(account, asked);
    if (page.next !== undefined && asked.limit === undefined) {
      return {
        ...jsonText(200, '', CACHED),
        body: allOf(page.notifications, page.next, (cursor) => list(account, { cursor })),
      };
    }
    const body = `[${page.notifications.join(',')}]`;
    if (page.next === undefined) return jsonText(200, body, CACHED);
    const following = new URLSearchParams(query);
    following.set('cursor', page.next);
    return jsonText(200, body, { ...CACHED, link: `<?${following}>; rel="next"` });
  },
};

/**
 * Streams what an account is told (decision 5.6): `notification` and `withdrawn` events. A client that comes back with
 * `Last-Event-ID` goes on from there.
 */
export const notificationStream: AccountRoute = {
  method: 'GET',
  path: '/accounts/:account/notifications/stream',
  stream: true,
  async handle({ accounts, param, request }) {
    const after = lastEventId(request);
    const options = { ...(after !== undefined && { after }), ...(request.signal && { signal: request.signal }) };
    return durableEventStream(await accounts.notifications.rendered.stream(param('account'), options), accounts.clock);
  },
};

const CACHED = { 'cache-control': 'public, max-age=300' };

type Page = { readonly notifications: readonly string[]; readonly next?: string };

/** Everything as one array, a page in memory at a time. */
async function* allOf(
  first: readonly string[],
  next: string,
  read: (cursor: string) => Promise<Page>,
): AsyncGenerator<string> {
  yield `[${first.join(',')}`;
  for (let cursor: string | undefined = next; cursor !== undefined; ) {
    const page: Page = await read(cursor);
    if (page.notifications.length > 0) yield `,${page.notifications.join(',')}`;
    cursor = page.next;
  }
  yield ']';
}

function pageOf(query: URLSearchParams): NotificationQuery {
  const [cursor, limit] = [once(query, 'cursor'), once(query, 'limit')];
  return {
    ...(cursor === undefined ? {} : { cursor }),
    ...(limit === undefined ? {} : { limit: /^\d{1,9}$/.test(limit) ? Number(limit) : Number.NaN }),
  };
}

function once(query: URLSearchParams, name: string): string | undefined {
  const [value, ...more] = query.getAll(name);
  if (more.length === 0) return value;
  throw new OrderBookError('InvalidParameter', `${name}: is given more than once`, { parameter: name });
}
