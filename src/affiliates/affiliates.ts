import type { KnownBook } from '../account-tools/account-books.ts';
import type { AccountStore } from '../ports/account-store.ts';
import type { UsdPriceQuery } from '../ports/prices.ts';
import type { AffiliateApi, AffiliatesContext, AffiliatesOptions, AffiliateTerms } from './affiliate-api.ts';
import { createAffiliateApi } from './affiliate-api.ts';
import { createOwnStatistics } from './own-statistics.ts';
import { createValuation, type ValuationContext } from './valuation.ts';

/** What the account interface provides to affiliates. */
export interface AffiliateProgramContext
  extends Omit<AffiliatesContext, 'store' | 'ownStatistics'>,
    Pick<ValuationContext, 'tokens' | 'readHistory'> {
  readonly books: readonly KnownBook[];
  readonly store: AccountStore;
  /** Returns the dollar price of a token, if there is one. */
  readonly findPrice: (query: UsdPriceQuery) => Promise<{ readonly price: number } | undefined>;
}

/** The affiliate codes of the account interface, and their own statistics. */
export interface Affiliates {
  readonly methods: AffiliateApi;
  /** The follower of the logs that own statistics need, if the host has chosen them. */
  readonly workers: readonly { start(): void }[];
  stop(): Promise<void>;
}

/** Creates the affiliates of the account interface. */
export function createAffiliates(options: AffiliatesOptions, context: AffiliateProgramContext): Affiliates {
  const { books, store, tokens, clock, onFailure, findPrice } = context;
  const methods = createAffiliateApi(options, {
    ...context,
    store: store.affiliates,
    ownStatistics: () => ownStatistics,
  });
  const ownStatistics = createOwnStatistics({
    books,
    store,
    getTerms: (code) => requireTerms(methods.getTerms(code)),
    payouts: options.payouts,
    tokens,
    value: createValuation({ ...context, readPrice: async (query) => (await findPrice(query))?.price }),
    clock,
    onFailure,
  });
  const hasOwnStatistics = options.statistics === 'own';
  return {
    methods,
    workers: hasOwnStatistics ? [ownStatistics] : [],
    async stop() {
      if (hasOwnStatistics) await ownStatistics.stop();
    },
  };
}

/** The terms of own statistics were checked when the affiliates were created. */
function requireTerms(terms: AffiliateTerms | undefined): AffiliateTerms {
  if (terms !== undefined) return terms;
  throw new TypeError("createAccounts: affiliates.statistics 'own' requires affiliates.terms");
}
