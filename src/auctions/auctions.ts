import { lazy } from '../concurrency/lifecycle.ts';
import type { Hex } from '../protocol/hex.ts';
import type { ExecutedSettlement, SettledAuction } from '../records/settled-solution.ts';
import type { AuctionApi, AuctionConfiguration, AuctionsContext } from './auction-api.ts';

/** Creates the auction methods. The auction service is loaded on first use. */
export function createAuctions(context: AuctionsContext) {
  const service = lazy(async () => {
    const { createAuctionService } = await import('./auction-service.ts');
    return createAuctionService(context);
  });

  async function use<R>(job: (methods: AuctionApi) => Promise<R>): Promise<R> {
    return service.use(({ methods }) => {
      context.assertStarted(); // the book can have closed while the service was loaded
      return job(methods);
    });
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
    } satisfies AuctionApi,
    status: (uid: Hex) => service.use(({ status }) => status(uid)),
    isBidOn: (uid: Hex) => service.use(({ isBidOn }) => isBidOn(uid)),
    close: async () => service.loaded?.close(),
  };
}

/** Finds the auction that a settlement belongs to, with the values that its trades are evaluated with. */
export type FindSettledAuction = (
  auctionId: number,
  settlement: ExecutedSettlement,
) => Promise<SettledAuction | undefined>;

/** Creates the search for auctions that were settled. It needs only the store, so the chain can have it first. */
export function createAuctionFinder(
  configuration: Pick<AuctionConfiguration, 'store' | 'clock' | 'auctions' | 'tokens'>,
): FindSettledAuction {
  const finder = lazy(async () => (await import('./settled-auction.ts')).createSettledAuctionReader(configuration));
  return (...settlement) => finder.use((read) => read(...settlement));
}
