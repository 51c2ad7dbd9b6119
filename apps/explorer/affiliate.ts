import type { AffiliateStatistics } from 'intentbook';
import type { Accounts } from 'intentbook/accounts';
import { isSourceMissing } from './market.ts';

/**
 * Reads the code of an account with its terms, and its statistics by kind, each null if there is none. A missing source
 * of statistics is a result with the reason, and not an error.
 */
export async function collectAffiliate(accounts: Accounts | undefined, address: string) {
  if (accounts === undefined) return undefined;
  const { affiliates } = accounts;
  const registered = await affiliates.get(address);
  const affiliate =
    registered === undefined
      ? null
      : {
          code: registered.code,
          createdAt: registered.createdAt,
          ...affiliates.getTerms(registered.code),
        };
  const read = async (kind: keyof AffiliateStatistics) => (await affiliates.statistics(kind, address)) ?? null;
  try {
    const [own, trader, traderActivity] = await Promise.all([
      read('affiliate'),
      read('trader'),
      read('traderActivity'),
    ]);
    return { affiliate, statistics: { affiliate: own, trader, traderActivity } };
  } catch (error) {
    if (isSourceMissing(error)) return { affiliate, reason: error.message };
    throw error;
  }
}
