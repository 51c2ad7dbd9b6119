import type { TradeApi } from '../order-book.ts';
import type { Store } from '../ports/store.ts';
import { totalSurplus } from './surplus.ts';
import { parseTradeQuery, requireAccount, requireToken, toOrderTrade } from './trades.ts';

/** Creates the trade methods of a book. */
export function createTradeApi(store: Store): TradeApi {
  return {
    async list(query) {
      return (await store.chain.trades(parseTradeQuery(query))).map(toOrderTrade);
    },
    async totalSurplus(account) {
      return totalSurplus(requireAccount(account), store);
    },
    async firstTradeBlock(token) {
      return store.chain.firstTrade(requireToken(token));
    },
  };
}
