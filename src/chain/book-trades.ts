import { lazy } from '../concurrency/lifecycle.ts';
import type { Store } from '../ports/store.ts';
import type { TradeApi } from './trade-api.ts';

/** Creates the trade methods of a book. Their code is loaded on first use. */
export function createTrades(store: Pick<Store, 'chain' | 'orders' | 'events'>, assertStarted: () => void) {
  const surplus = lazy(async () => (await import('./surplus.ts')).createSurplusReader(store));
  const trades = lazy(async () => (await import('./trade-api.ts')).createTradeApi(store, surplus));

  async function use<R>(job: (api: TradeApi) => R | Promise<R>): Promise<R> {
    assertStarted();
    return job(await trades.load());
  }

  return {
    methods: {
      list: (query, options) => use((api) => api.list(query, options)),
      page: (query, options) => use((api) => api.page(query, options)),
      async *pages(query, options) {
        yield* await use((api) => api.pages(query, options));
      },
      async *history(query, options) {
        yield* await use((api) => api.history(query, options));
      },
      totalSurplus: (account, options) => use((api) => api.totalSurplus(account, options)),
      firstTradeBlock: (token) => use((api) => api.firstTradeBlock(token)),
    } satisfies TradeApi,
    /** Drops cached sums. Called when orders were deleted, for which the log has no entries. */
    clear: () => surplus.loaded?.clear(),
  };
}
