import { AccountError } from '../../account-tools/account-error.ts';
import { type AffiliateRegistration, type AffiliateTerms, loadAffiliateCsv } from '../../affiliates/index.ts';
import { countRows } from '../../concurrency/abort.ts';
import { READ, readCost, unknownRows, WRITE } from '../cost.ts';
import { isCsvRequested, streamCsv, VARY } from '../csv.ts';
import { divide } from '../json-array.ts';
import { jsonResponse } from '../message.ts';
import { BODY_LIMIT } from '../route.ts';
import type { AccountRoute } from './route.ts';

/** Registers the affiliate code of the wallet that signed it. */
const registerAffiliate: AccountRoute = {
  method: 'POST',
  path: '/affiliate/:address',
  cost: WRITE,
  bodyLimit: BODY_LIMIT,
  async handle({ accounts, param, body }) {
    const registration = body as AffiliateRegistration; // `register` validates the shape
    const result = await accounts.affiliates.register(param('address'), registration);
    if (result.status === 'rejected') throw result.error;
    const { code, createdAt } = result.affiliate;
    return jsonResponse(201, { code, createdAt });
  },
};

/** Returns the code of a wallet with the terms of the program. */
const getAffiliate: AccountRoute = {
  method: 'GET',
  path: '/affiliate/:address',
  cost: READ,
  async handle({ accounts: { affiliates }, param }) {
    const affiliate = await affiliates.get(param('address'));
    if (affiliate === undefined) throw new AccountError(404, 'Affiliate not found');
    return jsonResponse(200, {
      code: affiliate.code,
      createdAt: affiliate.createdAt,
      ...affiliates.getTerms(affiliate.code),
    });
  },
};

/** Returns whether a code exists and its terms for traders. The response does not reveal the wallet. */
const getCode: AccountRoute = {
  method: 'GET',
  path: '/ref-codes/:code',
  cost: READ,
  async handle({ accounts: { affiliates }, param }) {
    const found = await affiliates.byCode(param('code'));
    if (found === undefined) throw new AccountError(404, 'Affiliate code not found');
    return jsonResponse(200, { code: found.code, ...getTraderTerms(affiliates.getTerms(found.code)) });
  },
};

function getTraderTerms(terms: AffiliateTerms | undefined) {
  if (terms === undefined) return {};
  const { rewardAmount, revenueSplitTraderPct, triggerVolume, timeCapDays, volumeCap } = terms;
  return { traderRewardAmount: (rewardAmount * revenueSplitTraderPct) / 100, triggerVolume, timeCapDays, volumeCap };
}

/** Creates a route that returns statistics of the configured source. */
const statistics = (
  name: 'affiliate-stats' | 'trader-stats',
  kind: 'affiliate' | 'trader',
  missing: string,
): AccountRoute => ({
  method: 'GET',
  path: `/affiliate/${name}/:address`,
  cost: READ,
  async handle({ accounts, param }) {
    const found = await accounts.affiliates.statistics(kind, param('address'));
    if (found === undefined) throw new AccountError(404, missing);
    return jsonResponse(200, found);
  },
});

/** Returns the newest trades of a trader, or all of them as CSV. */
const traderActivity: AccountRoute = {
  method: 'GET',
  path: '/affiliate/trader-activity/:address',
  cost: readCost('trades', 'at most 50; all trades of the trader for CSV', unknownRows),
  async handle(call) {
    const { accounts, param, work } = call;
    const all = isCsvRequested(call);
    const found = await accounts.affiliates.statistics('traderActivity', param('address'), { all });
    if (found === undefined) throw new AccountError(404, 'Trader activity not found');
    const rows: readonly unknown[] = Array.isArray(found['rows']) ? found['rows'] : [];
    countRows(work, rows.length);
    if (!all) return jsonResponse(200, found, VARY);
    const { ACTIVITY_CSV } = await loadAffiliateCsv();
    return streamCsv('trader-activity', ACTIVITY_CSV, divide(rows, work), work);
  },
};

export const AFFILIATE_ROUTES: readonly AccountRoute[] = [
  registerAffiliate,
  getAffiliate,
  getCode,
  /* @__PURE__ */ statistics('affiliate-stats', 'affiliate', 'Affiliate stats not found'),
  /* @__PURE__ */ statistics('trader-stats', 'trader', 'Trader stats not found'),
  traderActivity,
];
