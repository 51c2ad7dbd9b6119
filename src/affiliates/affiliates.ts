import type { AccountTools } from '../account-tools/account-tools.ts';
import type { UsdPriceQuery } from '../ports/prices.ts';
import type { AffiliatesOptions, AffiliateTerms } from './affiliate-api.ts';
import { createAffiliateApi } from './affiliate-api.ts';
import { createOwnStatistics } from './own-statistics.ts';
import { createValuation, type ReadHistory } from './valuation.ts';

interface Prices {
  /** Returns the dollar price of a token, if there is one. */
  readonly findPrice: (query: UsdPriceQuery) => Promise<{ readonly price: number } | undefined>;
  /** Returns the prices of the last day. */
  readonly readHistory: ReadHistory;
}

export function createAffiliates(options: AffiliatesOptions, tools: AccountTools, { findPrice, readHistory }: Prices) {
  const methods = createAffiliateApi(options, tools, () => ownStatistics);
  const readPrice = async (query: UsdPriceQuery) => (await findPrice(query))?.price;
  const ownStatistics = createOwnStatistics({
    ...tools,
    getTerms: (code) => requireTerms(methods.getTerms(code)),
    payouts: options.payouts,
    value: createValuation({ ...tools, readPrice, readHistory }),
  });
  const hasOwnStatistics = options.statistics === 'own';
  return {
    methods,
    /** The follower of the logs that own statistics need, if the host has chosen them. */
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
