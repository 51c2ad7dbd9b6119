import { AccountError } from '../../account-tools/account-error.ts';
import type { BalanceEvent } from '../../accounts/index.ts';
import { READ, type RouteCost } from '../cost.ts';
import { jsonResponse } from '../message.ts';
import { parseChainId } from '../query.ts';
import { cancellable } from '../route.ts';
import { eventStream, type ServerSentEvent } from '../sse.ts';
import type { AccountCall, AccountRoute } from './route.ts';

/** Tokens of a balance request that one token of the rate limit pays for. */
const BALANCES_PER_TOKEN = 10;

/** Cost of a balance request. Balances are read from a node, so the tokens are charged before. */
const BALANCES_COST: RouteCost = {
  kind: 'read',
  before: ({ query }) => Math.max(1, Math.ceil(splitTokens(new URLSearchParams(query)).length / BALANCES_PER_TOKEN)),
  tokens: `1 per ${BALANCES_PER_TOKEN} token addresses`,
  growth: 'number of tokens, at most 100, in one call of the node',
};

/** Returns an account's balances of tokens and its allowances for the vault relayer. */
const getBalances: AccountRoute = {
  method: 'GET',
  path: '/:chainId/accounts/:account/balances',
  cost: BALANCES_COST,
  async handle(call) {
    const { accounts, request, param } = call;
    const chainId = parseChainId(param('chainId'));
    const balances = await accounts.balances.get(chainId, param('account'), readTokens(call), cancellable(request));
    return jsonResponse(200, balances);
  },
};

const getAllBalances: AccountRoute = {
  method: 'GET',
  path: '/:chainId/address/:address/balances',
  cost: { ...READ, growth: 'number of sources of balances' },
  async handle({ accounts, param, query }) {
    const balances = await accounts.balances.all(parseChainId(param('chainId')), param('address'));
    if (balances === undefined) throw new AccountError(404, 'Balances not found');
    const caching = query.get('ignoreCache') === 'true' ? 'no-store, max-age=0' : 'public, max-age=5';
    return jsonResponse(200, { balances }, { 'cache-control': caching });
  },
};

/** Streams the same: all balances first, then changes. */
const streamBalances: AccountRoute = {
  method: 'GET',
  path: '/:chainId/accounts/:account/balances/sse',
  cost: BALANCES_COST,
  stream: true,
  async handle(call) {
    const { accounts, request, param } = call;
    const chainId = parseChainId(param('chainId'));
    const events = accounts.balances.watch(chainId, param('account'), readTokens(call), cancellable(request));
    return eventStream(events, toServerSentEvent, accounts.clock, { event: 'ping', data: '{}' });
  },
};

export const BALANCE_ROUTES: readonly AccountRoute[] = [getBalances, getAllBalances, streamBalances];

/** Reads addresses separated by commas. Blanks and empty elements are ignored. */
function readTokens({ query }: AccountCall): string[] {
  return splitTokens(query);
}

function splitTokens(query: URLSearchParams): string[] {
  const texts = query.getAll('tokens').flatMap((list) => list.split(','));
  return texts.map((text) => text.trim()).filter((text) => text !== '');
}

function toServerSentEvent(event: BalanceEvent): ServerSentEvent {
  switch (event.type) {
    case 'initial_balances':
      return { event: event.type, data: JSON.stringify({ balances: event.balances }) };
    case 'balance_update':
      return { event: event.type, data: JSON.stringify(event.update) };
    case 'unavailable':
      return { event: event.type, data: JSON.stringify({ message: 'The chain does not respond' }) };
  }
}
