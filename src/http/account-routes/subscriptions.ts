import { AccountError } from '../../accounts/account-error.ts';
import type { SubscriptionProof, SubscriptionRequest } from '../../accounts/subscriptions.ts';
import { READ, WRITE } from '../cost.ts';
import type { ApiRequest } from '../message.ts';
import { jsonResponse } from '../response.ts';
import { BODY_LIMIT } from '../route.ts';
import type { AccountRoute } from './route.ts';

const PATH = '/accounts/:account/subscriptions';

/** Creates a subscription of an account, authorised by its signature. See docs/internals/decisions.md#d5-8. */
const createSubscription: AccountRoute = {
  method: 'POST',
  path: PATH,
  cost: WRITE,
  bodyLimit: BODY_LIMIT,
  async handle({ accounts, param, body }) {
    const request = body as SubscriptionRequest; // `create` validates the shape
    return jsonResponse(201, await accounts.subscriptions.create(param('account'), request));
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

/** Confirms a subscription with the token of an invitation. */
const confirmSubscription: AccountRoute = {
  method: 'GET',
  path: '/accounts/:account/subscriptions/confirm',
  cost: WRITE,
  async handle({ accounts, query }) {
    return jsonResponse(200, await accounts.subscriptions.confirm(query.get('token') ?? ''));
  },
};

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

/** The routes of subscriptions. */
export const SUBSCRIPTION_ROUTES: readonly AccountRoute[] = [
  createSubscription,
  listSubscriptions,
  removeSubscription,
  confirmSubscription,
];
