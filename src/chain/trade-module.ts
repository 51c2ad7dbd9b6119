import type { Lazy } from '../concurrency/lazy.ts';
import { lazy } from '../concurrency/lazy.ts';
import type { TradeApi } from '../order-book.ts';
import type { Store } from '../ports/store.ts';
import type { SurplusReader } from './surplus.ts';

/** Creates the trade methods of a book. Their code is loaded on first use. */
export function createTradeModule(store: Pick<Store, 'chain'>, surplus: Lazy<SurplusReader>): TradeApi {
  const trades = lazy(async () => (await import('./trade-api.ts')).createTradeApi(store, surplus));
  return {
    list: (query, options) => trades.use((api) => api.list(query, options)),
    async *pages(query, options) {
      yield* (await trades.load()).pages(query, options);
    },
    totalSurplus: (account, options) => trades.use((api) => api.totalSurplus(account, options)),
    firstTradeBlock: (token) => trades.use((api) => api.firstTradeBlock(token)),
  };
}
