import type { BalanceEvent } from '../../accounts/balance-watch.ts';
import { parseChainId } from '../query.ts';
import { jsonResponse } from '../response.ts';
import { cancellable } from '../route.ts';
import type { ServerSentEvent } from '../sse.ts';
import { eventStream } from '../sse.ts';
import type { AccountCall, AccountRoute } from './route.ts';

/** Returns an account's balances of tokens and its allowances for the vault relayer. */
const getBalances: AccountRoute = {
  method: 'GET',
  path: '/:chainId/accounts/:account/balances',
  async handle(call) {
    const { accounts, request, param } = call;
    const chainId = parseChainId(param('chainId'));
    const balances = await accounts.balances.get(chainId, param('account'), readTokens(call), cancellable(request));
    return jsonResponse(200, balances);
  },
};

/** Streams the same: all balances first, then changes. */
const streamBalances: AccountRoute = {
  method: 'GET',
  path: '/:chainId/accounts/:account/balances/sse',
  stream: true,
  async handle(call) {
    const { accounts, request, param } = call;
    const chainId = parseChainId(param('chainId'));
    const events = accounts.balances.watch(chainId, param('account'), readTokens(call), cancellable(request));
    return eventStream(events, toServerSentEvent, accounts.clock, { event: 'ping', data: '{}' });
  },
};

/** The routes of balances. */
export const BALANCE_ROUTES: readonly AccountRoute[] = [getBalances, streamBalances];

/** Reads addresses separated by commas. Blanks and empty elements are ignored. */
function readTokens({ query }: AccountCall): string[] {
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
      return { event: event.type, data: JSON.stringify({ message: 'The chain does not answer' }) };
  }
}
