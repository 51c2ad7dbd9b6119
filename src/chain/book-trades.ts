import { lazy } from '../concurrency/lazy.ts';
import type { Store } from '../ports/store.ts';
import type { TradeApi } from './trade-api.ts';

/** The trade methods of a book. */
export interface Trades {
  readonly methods: TradeApi;
  /** Drops cached sums. Called when orders were deleted, for which the log has no entries. */
  clear(): void;
}

/** Creates the trade methods of a book. Their code is loaded on first use. */
export function createTrades(store: Pick<Store, 'chain' | 'orders' | 'events'>): Trades {
  const surplus = lazy(async () => (await import('./surplus.ts')).createSurplusReader(store));
  const trades = lazy(async () => (await import('./trade-api.ts')).createTradeApi(store, surplus));
  return {
    methods: {
      list: (query, options) => trades.use((api) => api.list(query, options)),
      page: (query, options) => trades.use((api) => api.page(query, options)),
      async *pages(query, options) {
        yield* (await trades.load()).pages(query, options);
      },
      async *history(query, options) {
        yield* (await trades.load()).history(query, options);
      },
      totalSurplus: (account, options) => trades.use((api) => api.totalSurplus(account, options)),
      firstTradeBlock: (token) => trades.use((api) => api.firstTradeBlock(token)),
    },
    clear: () => surplus.loaded?.clear(),
  };
}
