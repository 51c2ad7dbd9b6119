import type { AffiliateStatistics } from 'intentbook';
import type { Accounts } from 'intentbook/accounts';
import { isSourceMissing } from './market.ts';

/** The part of an account in the affiliate program. */
export interface ShownAffiliate {
  /** The code of the account, with its terms; null without a code. */
  readonly affiliate: object | null;
  /** Statistics by kind, null without an entry. Absent if they are not available. */
  readonly statistics?: Readonly<Record<keyof AffiliateStatistics, object | null>>;
  /** Why statistics are not available. */
  readonly reason?: string;
}

/** Reads the code and the statistics of an account. A missing source of statistics is a result, and not an error. */
export async function collectAffiliate(
  accounts: Accounts | undefined,
  address: string,
): Promise<ShownAffiliate | undefined> {
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
