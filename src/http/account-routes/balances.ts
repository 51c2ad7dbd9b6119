import type { BalanceEvent } from '../../accounts/balance-watch.ts';
import { jsonResponse } from '../response.ts';
import type { ServerSentEvent } from '../sse.ts';
import { eventStream } from '../sse.ts';
import { parseChainId } from './chain-id.ts';
import type { AccountCall, AccountRoute } from './route.ts';

/** What an account has of tokens, and what the vault relayer may move of them. */
const getBalances: AccountRoute = {
  method: 'GET',
  path: '/:chainId/accounts/:account/balances',
  async handle(call) {
    const { accounts, request, param } = call;
    const balances = await accounts.balances.get(
      parseChainId(param('chainId')),
      param('account'),
      tokensOf(call),
      request.signal === undefined ? {} : { signal: request.signal },
    );
    return jsonResponse(200, balances);
  },
};

/** The same as a stream: everything once, then what changes. */
const streamBalances: AccountRoute = {
  method: 'GET',
  path: '/:chainId/accounts/:account/balances/sse',
  stream: true,
  async handle(call) {
    const { accounts, request, param } = call;
    const events = accounts.balances.watch(
      parseChainId(param('chainId')),
      param('account'),
      tokensOf(call),
      request.signal === undefined ? {} : { signal: request.signal },
    );
    return eventStream(events, render, { clock: accounts.clock, event: { event: 'ping', data: '{}' } });
  },
};

export const BALANCE_ROUTES: readonly AccountRoute[] = [getBalances, streamBalances];

/** Addresses between commas; blanks and nothing between two commas do not count. */
function tokensOf({ query }: AccountCall): string[] {
  const texts = query.getAll('tokens').flatMap((list) => list.split(','));
  return texts.map((text) => text.trim()).filter((text) => text !== '');
}

function render(event: BalanceEvent): ServerSentEvent {
  switch (event.type) {
    case 'initial_balances':
      return { event: event.type, data: JSON.stringify({ balances: event.balances }) };
    case 'balance_update':
      return { event: event.type, data: JSON.stringify(event.update) };
    case 'unavailable':
      return { event: event.type, data: JSON.stringify({ message: 'The chain does not answer' }) };
  }
}
