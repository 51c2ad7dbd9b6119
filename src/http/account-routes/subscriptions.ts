import { AccountError } from '../../account-tools/account-error.ts';
import { UNKNOWN_CLIENT } from '../../limits/index.ts';
import type { SubscriptionProof, SubscriptionRequest } from '../../notifications/index.ts';
import { isTypeRequested } from '../accept.ts';
import { READ, WRITE } from '../cost.ts';
import { type ApiRequest, type ApiResponse, jsonResponse } from '../message.ts';
import { BODY_LIMIT } from '../route.ts';
import type { AccountRoute } from './route.ts';

const PATH = '/accounts/:account/subscriptions';

/** Creates a subscription of an account, authorised by its signature. See docs/internals/decisions.md#d5-8. */
const createSubscription: AccountRoute = {
  method: 'POST',
  path: PATH,
  cost: WRITE,
  bodyLimit: BODY_LIMIT,
  async handle({ accounts, param, body, work }) {
    const request = body as SubscriptionRequest; // `create` validates the shape
    const client = work.client?.();
    // A mount without addresses has one name for all clients, whose invitations a limit would share.
    const caller = { client: client === UNKNOWN_CLIENT ? undefined : client };
    return jsonResponse(201, await accounts.subscriptions.create(param('account'), request, caller));
  },
};

/** Lists the subscriptions of an account. Requires the account's signature. */
const listSubscriptions: AccountRoute = {
  method: 'GET',
  path: PATH,
  cost: READ,
  async handle({ accounts, param, request }) {
    return jsonResponse(200, await accounts.subscriptions.list(param('account'), readProof(request)));
  },
};

/** Removes a subscription by its `id`. */
const removeSubscription: AccountRoute = {
  method: 'DELETE',
  path: PATH,
  cost: WRITE,
  async handle({ accounts, param, query, request }) {
    await accounts.subscriptions.remove(param('account'), query.get('id') ?? '', readProof(request));
    return jsonResponse(200, { removed: true });
  },
};

/** Shows the page that confirms a subscription. It changes nothing, because mail scanners open links. */
const showConfirmation: AccountRoute = {
  method: 'GET',
  path: `${PATH}/confirm`,
  cost: READ,
  async handle() {
    return pageResponse('Confirm notifications', 'This address will receive notifications.', 'Confirm');
  },
};

/** Confirms a subscription with the token of an invitation. */
const confirmSubscription: AccountRoute = {
  method: 'POST',
  path: `${PATH}/confirm`,
  cost: WRITE,
  async handle({ accounts, query, request }) {
    const confirm = () => accounts.subscriptions.confirm(query.get('token') ?? '');
    if (!isTypeRequested(request, 'text/html')) return jsonResponse(200, await confirm());
    if (!(await isFound(confirm())))
      return pageResponse('Link not valid', 'This link is unknown or expired.', undefined, 404);
    return pageResponse('Notifications confirmed', 'This address now receives notifications.');
  },
};

/** Shows the page that removes a subscription. */
const showUnsubscription: AccountRoute = {
  method: 'GET',
  path: `${PATH}/unsubscribe`,
  cost: READ,
  async handle() {
    return pageResponse('End notifications', 'This address will receive no further notifications.', 'Unsubscribe');
  },
};

/** Removes a subscription with the token of a message. Mail programs send this request themselves (RFC 8058). */
const unsubscribe: AccountRoute = {
  method: 'POST',
  path: `${PATH}/unsubscribe`,
  cost: WRITE,
  async handle({ accounts, param, query, request }) {
    const [id, token] = [query.get('id') ?? '', query.get('token') ?? ''];
    const removed = accounts.subscriptions.unsubscribe(param('account'), id, token);
    if (!isTypeRequested(request, 'text/html')) return jsonResponse(200, await removed.then(() => ({ removed: true })));
    if (!(await isFound(removed))) return pageResponse('Link not valid', 'This link is not valid.', undefined, 404);
    return pageResponse('Notifications ended', 'This address receives no further notifications.');
  },
};

/** Returns whether a call does not reject with 404. */
async function isFound(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (failure) {
    if (failure instanceof AccountError && failure.status === 404) return false;
    throw failure;
  }
}

/** Reads `Authorization: Subscription nonce=1, deadline=1700000000, signature=0x…`. */
function readProof(request: ApiRequest): SubscriptionProof {
  const [scheme, rest = ''] = (request.header('authorization') ?? '').split(/\s+(.*)/s);
  const fields = new Map(rest.split(',').map((part) => part.trim().split('=', 2) as [string, string])); // at most two
  const [nonce, deadline, signature] = [fields.get('nonce'), fields.get('deadline'), fields.get('signature')];
  if (
    scheme?.toLowerCase() !== 'subscription' ||
    nonce === undefined ||
    deadline === undefined ||
    signature === undefined
  ) {
    throw new AccountError(401, 'Authorization: must be "Subscription nonce=…, deadline=…, signature=0x…"');
  }
  return { nonce, deadline: /^\d{1,15}$/.test(deadline) ? Number(deadline) : Number.NaN, signature };
}

export const SUBSCRIPTION_ROUTES: readonly AccountRoute[] = [
  createSubscription,
  listSubscriptions,
  removeSubscription,
  showConfirmation,
  confirmSubscription,
  showUnsubscription,
  unsubscribe,
];

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  // The address of the page contains a token.
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
} as const;

/**
 * Creates a page with a title, a sentence and, optionally, a button that sends POST to the address of the page. The
 * texts are constants: nothing from a request is rendered.
 */
function pageResponse(title: string, sentence: string, button?: string, status = 200): ApiResponse {
  const form = button === undefined ? '' : `<form method="post"><button>${button}</button></form>`;
  const body =
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${title}</title><h1>${title}</h1><p>${sentence}</p>${form}</html>\n`;
  return { status, headers: PAGE_HEADERS, body };
}
