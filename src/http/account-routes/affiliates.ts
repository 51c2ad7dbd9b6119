import { AccountError } from '../../accounts/account-error.ts';
import type { AffiliateApi, AffiliateRegistration } from '../../accounts/affiliates.ts';
import { jsonResponse } from '../response.ts';
import { BODY_LIMIT } from '../route.ts';
import type { AccountRoute } from './route.ts';

/** Binds a code to the wallet that has signed it (contract, "POST {bff_url}/affiliate/{wallet_address}"). */
const registerAffiliate: AccountRoute = {
  method: 'POST',
  path: '/affiliate/:address',
  bodyLimit: BODY_LIMIT,
  async handle({ accounts, param, body }) {
    const registration = body as AffiliateRegistration; // whatever it is, `register` reads its shape
    const result = await accounts.affiliates.register(param('address'), registration);
    if (result.status === 'rejected') throw result.error;
    const { code, createdAt } = result.affiliate;
    return jsonResponse(201, { code, createdAt });
  },
};

/** The code of a wallet, with what it promises. */
const getAffiliate: AccountRoute = {
  method: 'GET',
  path: '/affiliate/:address',
  async handle({ accounts: { affiliates }, param }) {
    const found = await affiliates.get(param('address'));
    if (found === undefined) throw new AccountError(404, 'Affiliate not found');
    return jsonResponse(200, { code: found.code, createdAt: found.createdAt, ...affiliates.terms });
  },
};

/** Whether a code is there, and what it promises to whoever trades with it. Does not tell whose it is. */
const getCode: AccountRoute = {
  method: 'GET',
  path: '/ref-codes/:code',
  async handle({ accounts: { affiliates }, param }) {
    const found = await affiliates.byCode(param('code'));
    if (found === undefined) throw new AccountError(404, 'Affiliate code not found');
    return jsonResponse(200, { code: found.code, ...promise(affiliates) });
  },
};

function promise({ terms }: AffiliateApi) {
  if (terms === undefined) return {};
  const { rewardAmount, revenueSplitTraderPct, triggerVolume, timeCapDays, volumeCap } = terms;
  return { traderRewardAmount: (rewardAmount * revenueSplitTraderPct) / 100, triggerVolume, timeCapDays, volumeCap };
}

const statistics = (
  name: 'affiliate-stats' | 'trader-stats' | 'trader-activity',
  kind: 'affiliate' | 'trader' | 'traderActivity',
  missing: string,
): AccountRoute => ({
  method: 'GET',
  path: `/affiliate/${name}/:address`,
  async handle({ accounts, param }) {
    const found = await accounts.affiliates.statistics(kind, param('address'));
    if (found === undefined) throw new AccountError(404, missing);
    return jsonResponse(200, found);
  },
});

export const AFFILIATE_ROUTES: readonly AccountRoute[] = [
  registerAffiliate,
  getAffiliate,
  getCode,
  /* @__PURE__ */ statistics('affiliate-stats', 'affiliate', 'Affiliate stats not found'),
  /* @__PURE__ */ statistics('trader-stats', 'trader', 'Trader stats not found'),
  /* @__PURE__ */ statistics('trader-activity', 'traderActivity', 'Trader activity not found'),
];
