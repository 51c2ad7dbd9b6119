import type { AffiliateTerms } from 'intentbook/accounts';
import { createAccounts } from 'intentbook/accounts';
import { memoryAccountStore } from 'intentbook/memory';
import { describe, expect, it } from 'vitest';
import { toDollars, toMicros, toValue } from '../../../src/affiliates/dollars.ts';
import { computeRewards, evaluateTrader } from '../../../src/affiliates/program.ts';
import type { Referral, ReferredTrade } from '../../../src/affiliates/referred-trade.ts';
import { parseReferrerCode } from '../../../src/affiliates/referred-trade.ts';
import { turns } from './accounts-fixture.ts';
import { AFFILIATE, statisticsFixture, TERMS, TRADER, TRADER_ADDRESS } from './statistics-fixture.ts';

describe('own affiliate statistics', () => {
  it('have the shapes of production', async () => {
    const payouts = { paidOut: (role: string) => (role === 'affiliate' ? '7.5' : 1) };
    const fixture = await statisticsFixture({ payouts });
    await fixture.register();
    const order = await fixture.trade(100);
    await fixture.trade(60);
    await turns(async () => (await fixture.activity()).length === 2);
    const lastUpdatedAt = expect.stringMatching(/^2023-11-14T22:13:2\d\.000Z$/);
    expect(await fixture.get('affiliate-stats', AFFILIATE.address)).toEqual({
      affiliate_address: AFFILIATE.address.toLowerCase(),
      referrer_code: 'ALICE-1',
      total_volume: 320,
      trigger_volume: 250,
      total_earned: 7.5,
      paid_out: 7.5,
      next_payout: 0,
      left_to_next_reward: 180,
      active_traders: 1,
      total_traders: 1,
      lastUpdatedAt,
    });
    expect(await fixture.get('trader-stats', TRADER.address)).toEqual({
      trader_address: TRADER_ADDRESS,
      bound_referrer_code: 'ALICE-1',
      linked_since: '2023-11-14 22:13:21.000 UTC',
      rewards_end: '2024-02-12 22:13:21.000 UTC',
      eligible_volume: 320,
      left_to_next_rewards: 180,
      trigger_volume: 250,
      total_earned: 2.5,
      paid_out: 1,
      next_payout: 1.5,
      lastUpdatedAt,
    });
    const [, first] = await fixture.activity();
    expect(first).toEqual({
      chain_id: 11155111,
      creation_date: '2023-11-14 22:13:21.000 UTC',
      tx_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      order_uid: order.uid,
      trader_address: TRADER_ADDRESS,
      sell_token: order.sellToken,
      buy_token: order.buyToken,
      sell_token_symbol: 'TOK',
      buy_token_symbol: 'TOK',
      executed_sell_amount: '100',
      executed_buy_amount: '0.000000000000000005',
      usd_value: 200,
      eligible_volume_usd: 200,
      referrer_code: 'ALICE-1',
      bound_referrer_code: 'ALICE-1',
      eligibility_reason: 'eligible',
      is_bound_to_code: true,
      is_eligible: true,
    });
  });

  it('follow reorganisations', async () => {
    const fixture = await statisticsFixture();
    await fixture.register();
    await fixture.trade(10);
    await fixture.trade(20);
    await turns(async () => (await fixture.activity()).length === 2);
    await fixture.rollback(1);
    await turns(async () => (await fixture.activity()).length === 1);
    expect(await fixture.get('trader-stats', TRADER_ADDRESS)).toMatchObject({ eligible_volume: 20 });
    await fixture.rollback(0);
    await turns(async () => (await fixture.activity()).length === 0);
    expect(await fixture.get('trader-stats', TRADER_ADDRESS)).toBe(404);
    expect(await fixture.get('affiliate-stats', AFFILIATE.address)).toMatchObject({
      total_volume: 0,
      total_traders: 0,
    });
  });

  it('keep the value of a trade when prices change and after a restart', async () => {
    const fixture = await statisticsFixture();
    await fixture.register();
    await fixture.trade(10);
    await turns(async () => (await fixture.activity()).length === 1);
    fixture.prices.current = 1000;
    await fixture.accounts.close();
    await fixture.accounts.start();
    await turns(async () => typeof (await fixture.get('trader-stats', TRADER_ADDRESS)) === 'object');
    expect(await fixture.get('trader-stats', TRADER_ADDRESS)).toMatchObject({ eligible_volume: 20 });
  });

  it('have the same value in all processes of one account store', async () => {
    const fixture = await statisticsFixture();
    await fixture.register();
    const other = createAccounts({
      books: [fixture.book],
      // A memory store has one user. The second one shares its data, as the processes of a database do.
      store: { ...fixture.store, open: async () => {}, close: async () => {} },
      clock: fixture.clock,
      affiliates: { terms: TERMS, statistics: 'own' },
      usdPrices: { sources: [{ name: 'other prices', usdPrice: () => 7 }] },
      tokens: () => ({ decimals: 18 }),
    });
    await other.start();
    for (let i = 1; i <= 20; i++) await fixture.trade(i);
    const read = async ({ affiliates }: Pick<typeof other, 'affiliates'>) => {
      const found = await affiliates.statistics('traderActivity', TRADER_ADDRESS);
      const rows: readonly { usd_value: number }[] = Array.isArray(found?.['rows']) ? found['rows'] : [];
      return rows.map(({ usd_value }) => usd_value);
    };
    await turns(async () => (await read(fixture.accounts)).length === 20 && (await read(other)).length === 20);
    expect(await read(other)).toEqual(await read(fixture.accounts));
    await other.close();
  });

  it('wait for a missing price, for ten minutes at most', async () => {
    const fixture = await statisticsFixture();
    await fixture.register();
    fixture.prices.current = undefined;
    await fixture.trade(10);
    await turns(async () => typeof (await fixture.get('trader-activity', TRADER_ADDRESS)) === 'object');
    expect(await fixture.activity()).toEqual([]);
    fixture.prices.current = 3;
    await turns(async () => {
      fixture.clock.advance(1000);
      return (await fixture.activity()).length === 1;
    });
    expect(await fixture.activity()).toMatchObject([{ usd_value: 30, eligibility_reason: 'eligible' }]);
    fixture.prices.current = undefined;
    await fixture.trade(10);
    const since = fixture.clock.now();
    await turns(async () => {
      fixture.clock.advance(5000);
      return (await fixture.activity()).length === 2;
    });
    expect(fixture.clock.now() - since).toBeGreaterThanOrEqual(600_000);
    expect((await fixture.activity())[0]).toMatchObject({ usd_value: null, eligibility_reason: 'price_unknown' });
  });

  it('do not count a code that was registered after the trade', async () => {
    const fixture = await statisticsFixture();
    const late = fixture.trade(10);
    await late;
    await turns(async () => (await fixture.activity()).length === 1);
    fixture.clock.advance(1000);
    await fixture.register();
    await fixture.trade(10);
    await turns(async () => (await fixture.activity()).length === 2);
    expect((await fixture.activity()).map((row) => row['eligibility_reason'])).toEqual([
      'ref_after_first_trade',
      'unknown_code',
    ]);
  });

  it('return all trades of a trader as CSV, and the newest 50 as JSON', async () => {
    const fixture = await statisticsFixture();
    await fixture.register();
    for (let i = 0; i < 53; i++) await fixture.trade(1);
    await turns(async () => {
      const found = await fixture.accounts.affiliates.statistics('traderActivity', TRADER_ADDRESS, { all: true });
      return Array.isArray(found?.['rows']) && found['rows'].length === 53;
    });
    expect((await fixture.activity()).length).toBe(50);
    const answer = await fixture.send('GET', `/affiliate/trader-activity/${TRADER_ADDRESS}?format=csv`);
    const [header = '', ...lines] = answer.text.trimEnd().split('\r\n');
    expect(header).toMatch(/^chain_id,creation_date,tx_hash,order_uid,/);
    expect([lines.length, lines[0]?.split(',').length]).toEqual([53, header.split(',').length]);
    expect(answer.header('content-type')).toBe('text/csv; charset=utf-8');
  });

  it('respond 503 until the logs were read', async () => {
    const fixture = await statisticsFixture();
    await fixture.accounts.close();
    const started = fixture.accounts.start();
    await started;
    const answer = await fixture.send('GET', `/affiliate/trader-stats/${TRADER_ADDRESS}`);
    expect([answer.status, answer.json(), answer.header('retry-after')]).toEqual([
      503,
      { message: 'Affiliate statistics are being computed' },
      '5',
    ]);
  });

  it('require terms; a code can have its own', async () => {
    const options = { books: [], store: memoryAccountStore() };
    expect(() => createAccounts({ ...options, affiliates: { statistics: 'own' } })).toThrow(
      "createAccounts: affiliates.statistics 'own' requires affiliates.terms",
    );
    const fixture = await statisticsFixture({ termsByCode: { 'ALICE-1': { ...TERMS, volumeCap: 7 } } });
    await fixture.register();
    await fixture.trade(10);
    await turns(async () => (await fixture.activity()).length === 1);
    expect(await fixture.get('trader-stats', TRADER_ADDRESS)).toMatchObject({ eligible_volume: 7 });
    expect(((await fixture.send('GET', '/ref-codes/ALICE-1')).json() as AffiliateTerms).volumeCap).toBe(7);
  });
});

describe('a time cap beyond all dates', () => {
  it('ends at the last date', async () => {
    const fixture = await statisticsFixture({ terms: { ...TERMS, timeCapDays: Number.MAX_SAFE_INTEGER } });
    await fixture.register();
    await fixture.trade(10);
    await turns(async () => (await fixture.activity()).length === 1);
    expect(await fixture.get('trader-stats', TRADER_ADDRESS)).toMatchObject({
      eligible_volume: 20,
      rewards_end: '+275760-09-13 00:00:00.000 UTC',
    });
  });
});

describe('referrer code of app data', () => {
  it.each([
    ['{"metadata":{"referrer":{"code":" alice-1 "}}}', 'ALICE-1'],
    ['{"metadata":{"referrer":{"code":"abc"}}}', undefined],
    ['{"metadata":{"referrer":{"code":5}}}', undefined],
    ['{"metadata":{"referrer":{"code":12345}}}', undefined],
    ['{"metadata":{"referrer":{"code":["ALICE-1"]}}}', undefined],
    ['{"metadata":{"referrer":"ALICE-1"}}', undefined],
    ['{"metadata":{"referrer":null}}', undefined],
    ['{"metadata":null,"referrer":{"code":"ALICE-1"}}', undefined],
    ['"\\"referrer\\""', undefined],
    ['{"referrer":', undefined],
    ['null', undefined],
    [null, undefined],
  ])('of %j is %j', (document, code) => {
    expect(parseReferrerCode(document)).toBe(code);
  });
});

describe('amounts of US dollars', () => {
  it('are exact millionths', () => {
    expect(toMicros('0.1') + toMicros(0.2)).toBe(toMicros('0.3'));
    expect(toDollars(300_000n)).toBe(0.3);
    expect(toValue(10n ** 30n + 5n * 10n ** 11n, 18, 3500.25)).toBe(3500250000000000000000n + 1750n);
    expect(toValue(1n, 0, 0.0000005)).toBe(1n);
    expect(() => toMicros('many')).toThrow('an amount of US dollars must be a decimal number, got many');
  });
});

describe('affiliate programme', () => {
  const referral = (changes: Partial<Referral> = {}): Referral => ({
    code: 'ALICE-1',
    affiliate: '0x0000000000000000000000000000000000000001',
    uid: '0x',
    txHash: '0x',
    sellToken: '0x0000000000000000000000000000000000000002',
    buyToken: '0x0000000000000000000000000000000000000003',
    sellAmount: '1',
    buyAmount: '1',
    value: '250000000',
    ...changes,
  });
  const trader = '0x0000000000000000000000000000000000000009';
  const at = (time: number, changes?: Partial<Referral>): ReferredTrade => ({
    trader,
    at: time,
    referral: referral(changes),
  });
  const day = 86_400_000;

  it.each<[string, ReferredTrade[], string[]]>([
    [
      'counts until the volume cap',
      [at(1), at(2), at(3), at(4)],
      ['eligible', 'eligible', 'eligible', 'volume_cap_exceeded'],
    ],
    [
      'counts until the time cap',
      [at(0), at(90 * day - 1), at(90 * day)],
      ['eligible', 'eligible', 'time_cap_exceeded'],
    ],
    ['binds by the first trade only', [{ trader, at: 1 }, at(2)], ['ref_after_first_trade']],
    ['does not count another code', [at(1), at(2, { code: 'BOB-1' })], ['eligible', 'other_code']],
    ['does not count the own code', [at(1, { affiliate: trader }), at(2)], ['own_code', 'ref_after_first_trade']],
    ['does not count an unknown code', [at(1, { affiliate: null }), at(2)], ['unknown_code', 'ref_after_first_trade']],
    ['does not count a trade without a value', [at(1, { value: null }), at(2)], ['price_unknown', 'eligible']],
  ])('%s', (_name, trades, reasons) => {
    const { trades: evaluated, eligibleVolume } = evaluateTrader(trades, () => TERMS);
    expect(evaluated.map(({ reason }) => reason)).toEqual(reasons);
    expect(eligibleVolume).toBe(evaluated.reduce((sum, { eligible }) => sum + eligible, 0n));
    expect(eligibleVolume <= 600_000_000n).toBe(true);
  });

  it('rewards each complete trigger volume', () => {
    expect(computeRewards(750_000_000n, TERMS, 75)).toEqual({ earned: 22_500_000n, left: 250_000_000n });
    expect(computeRewards(249_999_999n, TERMS, 75)).toEqual({ earned: 0n, left: 1n });
    expect(computeRewards(1n, { ...TERMS, triggerVolume: 0 }, 75)).toEqual({ earned: 0n, left: 0n });
  });
});
