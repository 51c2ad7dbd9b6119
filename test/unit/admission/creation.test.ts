import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseValidCreation } from '../../../src/admission/creation.ts';
import { orderCreation, parseOrderCreation } from '../../../src/admission/creation-schema.ts';
import type { ParsedCreation } from '../../../src/admission/verified-order.ts';
import { OrderBookError } from '../../../src/errors.ts';

const TOKEN = `0x${'AB'.repeat(20)}`;
const token = TOKEN.toLowerCase();
const HASH = `0x${'CD'.repeat(32)}`;

const GOOD = {
  sellToken: TOKEN,
  buyToken: TOKEN,
  sellAmount: '0012',
  buyAmount: '7',
  validTo: 1,
  feeAmount: '0',
  kind: 'sell',
  partiallyFillable: false,
  signingScheme: 'eip712',
  signature: '0xAB',
  appData: '{}',
};

function read(change: object): ParsedCreation {
  const parsed = parseOrderCreation({ ...GOOD, ...change });
  if (parsed instanceof OrderBookError) throw parsed;
  return parsed;
}

describe('optional members of an order have their documented meaning when', () => {
  const LEFT_OUT = {
    receiver: null,
    from: undefined,
    quoteId: undefined,
    appDataHash: undefined,
    fullBalanceCheck: false,
    sellTokenBalance: 'erc20',
    buyTokenBalance: 'erc20',
  };
  test('omitted', () => expect(read({})).toMatchObject(LEFT_OUT));
  test('null', () => {
    expect(read({ receiver: null, from: null, quoteId: null, appDataHash: null })).toMatchObject(LEFT_OUT);
  });
  test('given, in lower case and with their value', () => {
    const given = { receiver: TOKEN, from: TOKEN, quoteId: 7, appDataHash: HASH, fullBalanceCheck: true };
    const balances = { sellTokenBalance: 'external', buyTokenBalance: 'internal' };
    expect(read({ ...given, ...balances })).toMatchObject({
      receiver: token,
      from: token,
      quoteId: 7,
      appDataHash: HASH.toLowerCase(),
      fullBalanceCheck: true,
      ...balances,
      sellToken: token,
      buyToken: token,
      sellAmount: 12n,
      buyAmount: 7n,
      signature: '0xab',
    });
  });
});

describe('validTo as uint32', () => {
  test.each([0, 1, 2 ** 32 - 1])('accepts %d', (validTo) => expect(read({ validTo }).validTo).toBe(validTo));
  test.each([-1, 1.5, 2 ** 32, 2 ** 53, -0.5])('rejects %d', (validTo) => {
    expect(parseOrderCreation({ ...GOOD, validTo })).toMatchObject({
      code: 'InvalidBody',
      message: expect.stringMatching(/^validTo must be whole seconds since 1970, as a uint32, got /),
      data: { path: 'validTo' },
    });
  });
});

test.each([
  ['0', true],
  ['000', true],
  ['1', false],
  [(2n ** 256n).toString(), false],
])('fee of %s is zero: %s', (feeAmount, isZero) => expect(read({ feeAmount }).feeIsZero).toBe(isZero));

test.each([
  ['sellAmount', 'SellAmountOverflow'],
  ['buyAmount', 'BuyAmountOverflow'],
])('%s of more than 256 bits is %s, with the maximum', (field, code) => {
  const max = (2n ** 256n - 1n).toString();
  expect(read({ [field]: max })).toMatchObject({ [field]: 2n ** 256n - 1n });
  expect(parseOrderCreation({ ...GOOD, [field]: (2n ** 256n).toString() })).toMatchObject({
    code,
    data: { field, max },
  });
});

describe('the parser of valid orders agrees with the schema about', () => {
  const VALUES: readonly unknown[] = [
    [undefined, null, true, false, '', ' ', '{}', '0x', '0X', '0xg', '0xAB', '0xABC', TOKEN, HASH, `${TOKEN}\n`],
    [TOKEN.slice(0, -1), TOKEN.replace('x', 'X'), '0', '00', '1', '-1', '+1', '1e3', ' 1', '1\n', '0x1', '1.0'],
    [String(2n ** 256n - 1n), String(2n ** 256n), `${'0'.repeat(80)}1`, '9'.repeat(79)],
    ['buy', 'sell', 'Sell', 'erc20', 'internal', 'external', 'eip712', 'ethsign', 'presign', 'eip1271'],
    [0, -0, 1, 1.5, -1, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, 5n],
    [[], [TOKEN], {}, new Date(0), Object('sell'), Object(1)],
  ].flat();
  const MEMBERS = Object.keys(orderCreation.shape);

  function compare(input: unknown): void {
    const parsed = parseOrderCreation(input);
    expect(parseValidCreation(input)).toStrictEqual(parsed instanceof OrderBookError ? undefined : parsed);
  }

  test.each(MEMBERS)('an order with any value of %s, and without it', (name) => {
    const { [name]: _, ...without } = GOOD as Record<string, unknown>; // to be read by a computed name
    compare(without);
    for (const value of VALUES) compare({ ...GOOD, [name]: value });
  });

  test('an order with several changed members', () => {
    const changes = fc.dictionary(fc.constantFrom(...MEMBERS), fc.constantFrom(...VALUES), { maxKeys: 4 });
    fc.assert(
      fc.property(changes, (change) => compare({ ...GOOD, ...change })),
      { numRuns: 2000 },
    );
  });

  test.each([undefined, null, 1, 'text', [], [GOOD], Object.assign([], GOOD), Object.create(GOOD), new Map()])(
    '%j instead of an order',
    compare,
  );
});
