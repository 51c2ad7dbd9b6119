import { lazy } from '../concurrency/lazy.ts';
import type { Configuration } from '../options.ts';
import type { AuctionApi, AuctionModuleContext } from './auction-api.ts';
import type { AuctionEngine } from './engine.ts';

export interface AuctionModule extends Pick<AuctionEngine, 'status' | 'pricesOf' | 'isBidOn'> {
  readonly methods: AuctionApi;
}

/** Creates the auction methods. The auction engine is loaded on first use. */
export function createAuctionModule(configuration: Configuration, context: AuctionModuleContext): AuctionModule {
  const { assertStarted } = context;
  const engine = lazy(async () => {
    const { createAuctionEngine } = await import('./engine.ts');
    return createAuctionEngine(configuration, context);
  });

  return {
    methods: {
      async current() {
        assertStarted();
        return engine.use(({ methods }) => methods.current());
      },
      rendered: {
        async current() {
          assertStarted();
          return engine.use(({ methods }) => methods.rendered.current());
        },
      },
      async selection() {
        assertStarted();
        return engine.use(({ methods }) => methods.selection());
      },
      async record(competition) {
        assertStarted();
        return engine.use(({ methods }) => methods.record(competition));
      },
      competition: (auctionId, query) => engine.use(({ methods }) => methods.competition(auctionId, query)),
      latestCompetition: (query) => engine.use(({ methods }) => methods.latestCompetition(query)),
      competitionOfTransaction: (hash, query) =>
        engine.use(({ methods }) => methods.competitionOfTransaction(hash, query)),
    },
    status: (uid) => engine.use(({ status }) => status(uid)),
    pricesOf: (auctionId) => engine.use(({ pricesOf }) => pricesOf(auctionId)),
    isBidOn: (uid) => engine.use(({ isBidOn }) => isBidOn(uid)),
  };
}
