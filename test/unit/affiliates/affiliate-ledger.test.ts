import type { Address, Hex, PricePoint } from 'intentbook';
import { describe, expect, test } from 'vitest';
import type { AffiliateTerms } from '../../../src/affiliates/affiliate-api.ts';
import { ACTIVITY_CSV } from '../../../src/affiliates/csv.ts';
import type { LedgerEntry } from '../../../src/affiliates/ledger.ts';
import { createLedger } from '../../../src/affiliates/ledger.ts';
import { parseReferrerCode } from '../../../src/affiliates/referred-trade.ts';
import type { ValuedTrade } from '../../../src/affiliates/valuation.ts';
import { createValuation } from '../../../src/affiliates/valuation.ts';
import { manualClock } from '../../support/clock.ts';

const address = (byte: string): Address => `0x${byte.repeat(20)}`;
const [ALICE, BOB, PARTNER, WETH, USDC] = [address('a1'), address('b0'), address('cc'), address('e7'), address('c0')];
const UID: Hex = `0x${'12'.repeat(56)}`;

const TERMS: AffiliateTerms = {
  rewardAmount: 10,
  triggerVolume: 1000,
  timeCapDays: 90,
  volumeCap: 1_000_000,
  revenueSplitAffiliatePct: 50,
  revenueSplitTraderPct: 50,
  revenueSplitDaoPct: 0,
};

interface EntryChoice {
  readonly trader?: Address;
  readonly at?: number;
  readonly chainId?: number;
  readonly blockNumber?: number;
  readonly logIndex?: number;
  /** Absent: the trade has no referrer. */
  readonly code?: string;
}

function entryOf(key: string, choice: EntryChoice = {}): LedgerEntry {
  const { trader = ALICE, at = 1000, chainId = 1, blockNumber = 1, logIndex = 0, code } = choice;
  const referral = {
    code: code ?? '',
    affiliate: PARTNER,
    uid: UID,
    txHash: key as Hex, // a name is enough here
    sellToken: WETH,
    buyToken: USDC,
    sellAmount: '1',
    buyAmount: '1',
    value: '2000000',
  };
  const trade = { trader, at, ...(code === undefined ? {} : { referral }) };
  return { key, chainId, blockNumber, logIndex, trade };
}

/** A ledger, and the order of a trader's trades in it. */
function ledgerOf(...entries: readonly LedgerEntry[]) {
  const ledger = createLedger(() => TERMS);
  for (const entry of entries) ledger.add(entry);
  const listed = (trader = ALICE) => ledger.trader(trader)?.trades.map(({ referral }) => referral.txHash);
  return { ledger, listed };
}

describe('affiliate ledger', () => {
  test('sorts trades by time, chain, block and log index, in whatever order they arrive', () => {
    const code = 'PARTNER';
    const sorted = [
      entryOf('a', { code, at: 1, chainId: 9, blockNumber: 9, logIndex: 9 }),
      entryOf('b', { code, at: 2, chainId: 1, blockNumber: 9, logIndex: 9 }),
      entryOf('c', { code, at: 2, chainId: 2, blockNumber: 1, logIndex: 9 }),
      entryOf('d', { code, at: 2, chainId: 2, blockNumber: 2, logIndex: 1 }),
      entryOf('e', { code, at: 2, chainId: 2, blockNumber: 2, logIndex: 3 }),
    ];
    for (const order of [
      [0, 1, 2, 3, 4],
      [4, 3, 2, 1, 0],
      [2, 4, 0, 3, 1],
    ]) {
      const { ledger, listed } = ledgerOf(...order.flatMap((i) => sorted[i] ?? []));
      expect(listed()).toEqual(['a', 'b', 'c', 'd', 'e']);
      expect(ledger.trader(ALICE)?.chainIds).toEqual([9, 1, 2, 2, 2]);
    }
  });

  test('lists trades with a referrer only, and their chains', () => {
    const { ledger, listed } = ledgerOf(
      entryOf('a', { code: 'PARTNER', chainId: 5 }),
      entryOf('b', { chainId: 6, at: 2000 }),
      entryOf('c', { code: 'PARTNER', chainId: 7, at: 3000 }),
    );
    expect(listed()).toEqual(['a', 'c']);
    expect(ledger.trader(ALICE)?.chainIds).toEqual([5, 7]);
  });

  test('replaces a trade with the same key, and removes trades of a block that was rolled back', () => {
    const { ledger, listed } = ledgerOf(
      entryOf('a', { code: 'PARTNER', at: 1 }),
      entryOf('b', { code: 'PARTNER', at: 2 }),
      entryOf('a', { code: 'PARTNER', at: 3 }),
    );
    expect(listed()).toEqual(['b', 'a']);
    ledger.remove('b');
    ledger.remove('b');
    expect(listed()).toEqual(['a']);
    ledger.remove('a');
    expect(ledger.trader(ALICE)).toBeUndefined();
    expect(ledger.boundTo('PARTNER', PARTNER)).toEqual([]);
  });

  test('returns the traders that are bound to a code by their first trade', () => {
    const { ledger } = ledgerOf(
      entryOf('a', { code: 'PARTNER' }),
      entryOf('b', { code: 'ANOTHER', at: 2000 }),
      entryOf('c', { trader: BOB, code: 'ANOTHER' }),
    );
    const boundTo = (code: string) => ledger.boundTo(code, PARTNER).map(({ trades }) => trades[0]?.referral.txHash);
    expect([boundTo('PARTNER'), boundTo('ANOTHER'), boundTo('UNKNOWN')]).toEqual([['a'], ['c'], []]);
    ledger.clear();
    expect([boundTo('PARTNER'), ledger.trader(BOB)]).toEqual([[], undefined]);
    ledger.remove('c');
    ledger.add(entryOf('c', { trader: BOB, code: 'PARTNER' }));
    expect(boundTo('PARTNER')).toEqual(['c']);
  });
});

describe('valuation of a trade', () => {
  const MINUTE = 60_000;
  const clock = manualClock();
  const now = clock.now();

  type Inputs = Parameters<typeof createValuation>[0];

  function valuationOf(changes: Partial<Inputs> = {}) {
    const calls: string[] = [];
    const failures: unknown[] = [];
    const value = createValuation({
      clock,
      tokens: async () => ({ decimals: 2, symbol: 'T' }),
      async readPrice({ chainId, token }) {
        calls.push(`price ${chainId} ${token}`);
        return 3;
      },
      async readHistory({ token }) {
        calls.push(`history ${token}`);
        return undefined;
      },
      onFailure: (failure) => void failures.push(failure),
      ...changes,
    });
    const trade: ValuedTrade = {
      chainId: 5,
      sellToken: WETH,
      buyToken: USDC,
      sellAmount: 200n,
      buyAmount: 700n,
      at: now,
    };
    const of = (at = now, more: Partial<ValuedTrade> = {}) => value({ ...trade, at, ...more });
    return { calls, failures, of };
  }

  test('has the price of wrapped native currency for native currency', async () => {
    const wrapped = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2';
    const readPrice = async ({ token }: { token: Address }) => (token === wrapped ? 3000 : undefined);
    const { of } = valuationOf({
      readPrice,
      tokens: async (_chainId, token) => ({ decimals: token === wrapped ? 18 : 2 }),
    });
    const trade = { chainId: 1, buyToken: `0x${'ee'.repeat(20)}`, buyAmount: 10n ** 18n } as const;
    expect(await of(now, trade)).toBe(3_000_000_000n);
  });

  test('is the lesser of its two sides', async () => {
    for (const [sold, bought, value] of [
      [3, 100, 6_000_000n],
      [1_000_000, 2, 14_000_000n],
    ] as const) {
      const readPrice: Inputs['readPrice'] = async ({ token }) => (token === WETH ? sold : bought);
      expect(await valuationOf({ readPrice }).of()).toBe(value);
    }
  });

  test('has the current prices of its tokens for ten minutes', async () => {
    const { calls, of } = valuationOf();
    expect(await of(now - 10 * MINUTE)).toBe(6_000_000n);
    expect(calls).toEqual([`price 5 ${WETH}`, `price 5 ${USDC}`]);
    await of(now - 10 * MINUTE - 1);
    expect(calls.slice(2).sort()).toEqual(
      [WETH, USDC].flatMap((token) => [`history ${token}`, `price 5 ${token}`]).sort(),
    );
  });

  test.each<[string, readonly PricePoint[], bigint]>([
    [
      'the nearest price',
      [-90, -31, -20, 5].map((at, i) => ({ at: now + (at - 60) * MINUTE, price: i + 7 })),
      20_000_000n,
    ],
    [
      'the first of two prices at equal distance',
      [-1, 1].map((at) => ({ at: now + (at - 60) * MINUTE, price: 5 + at })),
      8_000_000n,
    ],
    ['a price that is 30 minutes older', [{ at: now - 90 * MINUTE, price: 4 }], 8_000_000n],
    ['a price that is 30 minutes newer', [{ at: now - 30 * MINUTE, price: 4 }], 8_000_000n],
    ['the current price if the nearest is older', [{ at: now - 90 * MINUTE - 1, price: 4 }], 6_000_000n],
    ['the current price if the nearest is newer', [{ at: now - 30 * MINUTE + 1, price: 4 }], 6_000_000n],
    ['the current price without a history', [], 6_000_000n],
  ])('an hour ago has %s', async (_, points, expected) => {
    const { of } = valuationOf({ readHistory: async () => points });
    expect(await of(now - 60 * MINUTE)).toBe(expected);
  });

  test('has the value of its buy token if the other has no price or no decimals', async () => {
    const readPrice: Inputs['readPrice'] = async ({ token }) => (token === WETH ? undefined : 2);
    expect(await valuationOf({ readPrice }).of()).toBe(14_000_000n);
    const tokens: Inputs['tokens'] = async (_, token) => (token === WETH ? undefined : { decimals: 2 });
    const unknown = valuationOf({ tokens });
    expect(await unknown.of()).toBe(21_000_000n);
    expect(unknown.calls).toEqual([`price 5 ${USDC}`]);
    expect(await valuationOf({ readPrice: async () => undefined }).of()).toBeUndefined();
  });

  test('reports a failure and uses the other token', async () => {
    const broken = new Error('no price');
    const { of, failures } = valuationOf({
      readPrice: async ({ token }) => {
        if (token === WETH) throw broken;
        return 2;
      },
    });
    expect(await of()).toBe(14_000_000n);
    expect(failures).toEqual([broken]);
  });
});

describe('referrer code of a document', () => {
  const document = (code: unknown) => JSON.stringify({ metadata: { referrer: { code } } });

  test.each<[string | null, string | undefined]>([
    [document('partner'), 'PARTNER'],
    [document(' Part-ner_1 '), 'PART-NER_1'],
    [document('ABCDE'), 'ABCDE'],
    [document('A'.repeat(20)), 'A'.repeat(20)],
    [document('ABCD'), undefined],
    [document('A'.repeat(21)), undefined],
    [document('PART NER'), undefined],
    // Their upper-case forms are ASCII letters.
    [document('ſervice'), undefined],
    [document('ßßßß'), undefined],
    ['{"metadata":{"r\\u0065ferrer":{"code":"partner"}}}', 'PARTNER'],
    ['{"metadata":{"text":"\\u0065"}}', undefined],
    [document(12345), undefined],
    ['{"metadata":{"referrer":null}}', undefined],
    ['{"metadata":null,"a":"\\"referrer\\""}', undefined],
    ['{"referrer":1}', undefined],
    ['null "referrer"', undefined],
    ['"referrer"', undefined],
    ['{"metadata":{}}', undefined],
    [null, undefined],
  ])('%s is %s', (text, code) => {
    expect(parseReferrerCode(text)).toBe(code);
  });
});

test('activity as CSV has all columns, and empty fields for other types', () => {
  const header =
    'chain_id,creation_date,tx_hash,order_uid,trader_address,sell_token,buy_token,sell_token_symbol,' +
    'buy_token_symbol,executed_sell_amount,executed_buy_amount,usd_value,eligible_volume_usd,referrer_code,' +
    'bound_referrer_code,eligibility_reason,is_bound_to_code,is_eligible';
  const row = { chain_id: 1, tx_hash: '0x12', sell_token: { a: 1 }, is_eligible: false, usd_value: 2.5, other: 'x' };
  const lines = [row, null, 'text'].map(ACTIVITY_CSV.toLine);
  expect([ACTIVITY_CSV.header, ...lines].join('').split('\r\n')).toEqual([
    header,
    '1,,0x12,,,,,,,,,2.5,,,,,,false',
    ','.repeat(17),
    ','.repeat(17),
    '',
  ]);
});
