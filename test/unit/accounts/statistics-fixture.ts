import assert from 'node:assert/strict';
import type { UsdPriceSource } from 'intentbook';
import type { AffiliateTerms } from 'intentbook/accounts';
import { affiliateTypedData } from '../../support/affiliates.ts';
import { blockOf, eventsIn, tradeOf } from '../../support/chain-events.ts';
import { account, signOrder, WETH } from '../../support/orders.ts';
import { accountFixture } from './account-api-fixture.ts';

export const TERMS: AffiliateTerms = {
  rewardAmount: 10,
  triggerVolume: 250,
  timeCapDays: 90,
  volumeCap: 600,
  revenueSplitAffiliatePct: 75,
  revenueSplitTraderPct: 25,
  revenueSplitDaoPct: 0,
};
export const AFFILIATE = account(7_001);
export const TRADER = account(7_002);
export const TRADER_ADDRESS = TRADER.address.toLowerCase();
const APP_DATA = JSON.stringify({ metadata: { referrer: { code: 'alice-1', version: '1.0.0' } } });

/**
 * A book with own statistics. The sell token has the price of `prices.current`, or that of the sources, and the other
 * token none. Both have 18 decimals.
 */
export async function statisticsFixture(affiliates: object = {}, sources?: readonly UsdPriceSource[]) {
  const prices: { current: number | undefined } = { current: 2 };
  const source: UsdPriceSource = {
    name: 'scripted',
    usdPrice: ({ token }) => (token === WETH.toLowerCase() ? prices.current : undefined),
  };
  const fixture = await accountFixture({
    affiliates: { terms: TERMS, statistics: 'own', ...affiliates },
    usdPrices: { sources: sources ?? [source], cacheTtl: 0 },
    tokens: () => ({ decimals: 18, symbol: 'TOK' }),
  });
  const { book, accounts, clock, send } = fixture;
  let block = 0;
  const get = async (name: string, address: string, query = '') => {
    const answer = await send('GET', `/affiliate/${name}/${address}${query}`);
    return answer.status === 200 ? (answer.json() as Record<string, unknown>) : answer.status;
  };
  const activity = async () => {
    const found = await get('trader-activity', TRADER_ADDRESS);
    return (found as { rows: Record<string, unknown>[] }).rows;
  };
  return {
    ...fixture,
    prices,
    get,
    activity,
    async register() {
      const walletAddress = AFFILIATE.address;
      const signedMessage = await AFFILIATE.signTypedData(affiliateTypedData(walletAddress, 'ALICE-1'));
      const result = await accounts.affiliates.register(walletAddress, {
        walletAddress,
        code: 'ALICE-1',
        signedMessage,
      });
      assert.equal(result.status, 'registered');
    },
    /** Submits an order and trades it in its own block. */
    async trade(tokens: number, appData = APP_DATA) {
      clock.advance(1000);
      const now = clock.now() / 1000;
      const sellAmount = String(BigInt(tokens) * 10n ** 18n);
      const order = await signOrder(TRADER, { sellAmount, buyAmount: '5', validTo: Math.floor(now) + 600, appData });
      const result = await book.orders.submit(order);
      if (result.status !== 'accepted') throw result.error;
      const stored = await book.orders.get(result.uid);
      assert.ok(stored);
      const through = blockOf(++block);
      const events = eventsIn(through, [tradeOf(stored, BigInt(sellAmount), 5n)]);
      await book.chain.apply({ events: events.map((event) => ({ ...event, timestamp: now })), through });
      return stored;
    },
    async rollback(to: number) {
      block = to;
      await book.chain.rollback(to);
    },
  };
}
