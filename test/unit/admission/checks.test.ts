import { describe, expect, test } from 'vitest';
import type { OrderCheckContext } from '../../../src/admission/checks.ts';
import { LOCAL_CHECKS } from '../../../src/admission/checks.ts';
import { DEFAULT_LIMITS } from '../../../src/admission/limits.ts';
import type { VerifiedOrder } from '../../../src/admission/verified-order.ts';
import type { Address } from '../../../src/protocol/hex.ts';
import { PROFILE_RULES } from '../../../src/protocol/profile.ts';

const NOW = 1_700_000_000;
const YEAR = 31_536_000;
const NATIVE: Address = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
const WETH: Address = `0x${'e1'.repeat(20)}`;
const COW: Address = `0x${'c0'.repeat(20)}`;

interface Change {
  readonly data?: object;
  readonly scheme?: string;
  readonly validFrom?: number;
  readonly wrappedNative?: undefined;
  readonly eip1271?: OrderCheckContext['eip1271'];
}

/** Returns the first rejection of a changed valid order: code, message and data. */
function rejectionOf({ data = {}, scheme = 'eip712', validFrom, eip1271 = 'rejected', ...policy }: Change) {
  const candidate = {
    data: {
      kind: 'sell',
      sellToken: WETH,
      buyToken: COW,
      sellAmount: 1n,
      buyAmount: 1n,
      validTo: NOW + 600,
      sellTokenBalance: 'erc20',
      buyTokenBalance: 'erc20',
      ...data,
    },
    creation: { signingScheme: scheme },
    document: { content: { validFrom, hooks: { pre: [], post: [] } } },
  } as unknown as VerifiedOrder; // the members that these checks read
  const { rules } = PROFILE_RULES.specification;
  const deniedTokens = new Set<Address>([`0x${'bad0'.repeat(10)}`]);
  const tokens = { wrappedNative: WETH, deniedTokens, pairs: rules, ...policy };
  const context = { limits: DEFAULT_LIMITS, tokens, rules, now: NOW, eip1271 };
  for (const check of LOCAL_CHECKS) {
    const rejection = check(candidate, context);
    if (rejection !== undefined) return [rejection.code, rejection.message, rejection.data];
  }
  return undefined;
}

describe('validTo is between a minute and a year ahead, inclusive, without an upper end for a presignature', () => {
  const window = { now: NOW, earliest: NOW + 60 };
  const upTo = { ...window, latest: NOW + YEAR };
  const words = (validTo: number, may: string) => `validTo must be ${may}, got ${dated(validTo)}; now is ${dated(NOW)}`;
  const dated = (time: number) => `${time} (${new Date(time * 1000).toISOString()})`;
  const between = `${NOW + 60} to ${NOW + YEAR}`;
  const from = `${NOW + 60} or later`;

  test.each<[string, number, unknown]>([
    ['eip712', NOW + 60, undefined],
    ['eip712', NOW + YEAR, undefined],
    ['presign', NOW + 60, undefined],
    ['presign', 2 ** 32 - 1, undefined],
    ['eip712', NOW - 1, ['OrderExpired', words(NOW - 1, between), { validTo: NOW - 1, ...upTo }]],
    ['eip712', NOW, ['InsufficientValidTo', words(NOW, between), { validTo: NOW, ...upTo }]],
    ['eip712', NOW + 59, ['InsufficientValidTo', words(NOW + 59, between), { validTo: NOW + 59, ...upTo }]],
    [
      'ethsign',
      NOW + YEAR + 1,
      ['ExcessiveValidTo', words(NOW + YEAR + 1, between), { validTo: NOW + YEAR + 1, ...upTo }],
    ],
    ['presign', NOW - 1, ['OrderExpired', words(NOW - 1, from), { validTo: NOW - 1, ...window }]],
    ['presign', NOW + 59, ['InsufficientValidTo', words(NOW + 59, from), { validTo: NOW + 59, ...window }]],
  ])('%s until %i', (scheme, validTo, rejection) => {
    const found = rejectionOf({ scheme, data: { validTo } });
    expect(found).toEqual(rejection);
    if (found !== undefined) expect(Object.keys(found[2] as object)).toHaveLength(scheme === 'presign' ? 3 : 4);
  });
});

describe('order check', () => {
  test.each<[string, Change, unknown]>([
    ['zero sell amount', { data: { sellAmount: 0n } }, ['ZeroAmount', 'sellAmount is 0', { field: 'sellAmount' }]],
    ['zero buy amount', { data: { buyAmount: 0n } }, ['ZeroAmount', 'buyAmount is 0', { field: 'buyAmount' }]],
    [
      'neither',
      { data: { sellAmount: 0n, buyAmount: 0n } },
      ['ZeroAmount', 'sellAmount is 0', { field: 'sellAmount' }],
    ],
    [
      'equal tokens',
      { data: { buyToken: WETH } },
      ['SameBuyAndSellToken', expect.any(String), { sellToken: WETH, buyToken: WETH }],
    ],
    [
      'unwrapping',
      { data: { buyToken: NATIVE } },
      ['SameBuyAndSellToken', expect.any(String), { sellToken: WETH, buyToken: NATIVE }],
    ],
    ['buying native currency', { data: { sellToken: COW, buyToken: NATIVE } }, undefined],
    [
      'buying native currency without a wrapped token',
      { data: { buyToken: NATIVE }, wrappedNative: undefined },
      undefined,
    ],
    [
      'selling native currency',
      { data: { sellToken: NATIVE } },
      ['InvalidNativeSellToken', 'sell the wrapped native token instead', { wrappedNative: WETH }],
    ],
    [
      'selling native currency without a wrapped token',
      { data: { sellToken: NATIVE }, wrappedNative: undefined },
      ['InvalidNativeSellToken', 'sell the wrapped native token instead', {}],
    ],
    [
      'denied token',
      { data: { sellToken: `0x${'bad0'.repeat(10)}` } },
      ['UnsupportedToken', `token 0x${'bad0'.repeat(10)} is deny-listed`, { token: `0x${'bad0'.repeat(10)}` }],
    ],
    [
      'contract signature',
      { scheme: 'eip1271' },
      ['UnsupportedSigningScheme', expect.any(String), { scheme: 'eip1271' }],
    ],
    ['contract signature with a chain', { scheme: 'eip1271', eip1271: 'unverified' }, undefined],
    ['validFrom within its limit', { validFrom: NOW + 539 }, undefined],
    [
      'validFrom too late',
      { validFrom: NOW + 540 },
      [
        'InvalidValidFrom',
        `validFrom must be at most ${NOW + 539}, got ${NOW + 540} (${new Date((NOW + 540) * 1000).toISOString()})`,
        { validFrom: NOW + 540, validTo: NOW + 600, latest: NOW + 539 },
      ],
    ],
  ])('handles %s', (_, change, rejection) => expect(rejectionOf(change)).toStrictEqual(rejection));
});
