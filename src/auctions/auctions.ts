import { lazy } from '../concurrency/lazy.ts';
import type { Configuration } from '../options.ts';
import type { AuctionApi, AuctionModuleContext } from './auction-api.ts';
import type { AuctionService } from './auction-service.ts';

export interface AuctionModule extends Pick<AuctionService, 'status' | 'settled' | 'isBidOn' | 'close'> {
  readonly methods: AuctionApi;
}

/** Creates the auction methods. The auction service is loaded on first use. */
export function createAuctionModule(configuration: Configuration, context: AuctionModuleContext): AuctionModule {
  const service = lazy(async () => {
    const { createAuctionService } = await import('./auction-service.ts');
    return createAuctionService(configuration, context);
  });

  async function use<R>(job: (methods: AuctionApi) => Promise<R>): Promise<R> {
    context.assertStarted();
    return service.use(({ methods }) => job(methods));
  }

  return {
    methods: {
      current: () => use((api) => api.current()),
      stream: (options) => use((api) => api.stream(options)),
      rendered: {
        current: () => use(({ rendered }) => rendered.current()),
        stream: (options) => use(({ rendered }) => rendered.stream(options)),
      },
      selection: () => use((api) => api.selection()),
      run: (options) => use((api) => api.run(options)),
      record: (competition) => use((api) => api.record(competition)),
      competition: (auctionId, query) => use((api) => api.competition(auctionId, query)),
      competitionsOfOrder: (uid) => use((api) => api.competitionsOfOrder(uid)),
      latestCompetition: (query) => use((api) => api.latestCompetition(query)),
      competitionOfTransaction: (hash, query) => use((api) => api.competitionOfTransaction(hash, query)),
    },
    status: (uid) => service.use(({ status }) => status(uid)),
    settled: (...settlement) => service.use(({ settled }) => settled(...settlement)),
    isBidOn: (uid) => service.use(({ isBidOn }) => isBidOn(uid)),
    close: async () => service.loaded?.close(),
  };
}
