import type { Trade } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { OrderBookError } from '../../../src/errors.ts';
import type { Decimal } from '../../../src/protocol/decimal.ts';
import { formatDecimal, parseDecimal } from '../../../src/protocol/decimal.ts';
import { median, validateEstimate, validatePrice } from '../../../src/quotes/estimate-validation.ts';

const SOLD = `0x${'e1'.repeat(20)}`;
const BOUGHT = `0x${'c0'.repeat(20)}`;
const TRADE = { sellToken: SOLD, buyToken: BOUGHT } as Trade; // all that is looked at
const ZERO = `0x${'0'.repeat(40)}`;
const MAX = 2n ** 256n - 1n;

const judge = (answer: unknown) => validateEstimate('source', TRADE, answer);
const GOOD = { amount: 7n, gas: 100 };
const SOUND = { source: 'source', amount: 7n, gas: 100n, solver: ZERO, verified: false, metadata: '{}' };

describe('an answer about a trade', () => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['no way', []],
  ])('%s is none', (_, answer) => expect(judge(answer)).toEqual({ outcome: 'none' }));

  test.each<[string, unknown, readonly object[]]>([
    ['the least', GOOD, [SOUND]],
    [
      'nulls for what is absent',
      { ...GOOD, solver: null, verified: null, metadata: null, unsupportedToken: null },
      [SOUND],
    ],
    [
      'everything',
      { ...GOOD, solver: SOLD.toUpperCase().replace('X', 'x'), verified: true, metadata: { plan: [1] } },
      [{ ...SOUND, solver: SOLD, verified: true, metadata: '{"plan":[1]}' }],
    ],
    [
      'the most that there can be',
      { amount: MAX, gas: Number.MAX_SAFE_INTEGER },
      [{ ...SOUND, amount: MAX, gas: BigInt(Number.MAX_SAFE_INTEGER) }],
    ],
    ['several ways', [GOOD, { ...GOOD, gas: 1 }], [SOUND, { ...SOUND, gas: 1n }]],
    ['sixteen ways', Array(16).fill(GOOD), Array(16).fill(SOUND)],
  ])('%s is taken', (_, answer, value) => expect(judge(answer)).toEqual({ outcome: 'answered', value }));

  test.each<[string, unknown]>([
    ...['7', 7, true, 7n, () => GOOD, Symbol('x')].map((answer): [string, unknown] => [typeof answer, answer]),
    ['an empty object', {}],
    ['one way too many', Array(17).fill(GOOD)],
    ['one good way and one that is none', [GOOD, null]],
    ['one good way and a text', [GOOD, 'x']],
    ['one good way and a bad one', [GOOD, { ...GOOD, gas: 0 }]],
    ...[undefined, '7', 7, 0n, -1n, MAX + 1n].map((amount): [string, unknown] => [
      `an amount of ${amount}`,
      { ...GOOD, amount },
    ]),
    ...[undefined, '7', 7n, 0, -1, 1.5, 2 ** 53, Number.NaN].map((gas): [string, unknown] => [
      `gas of ${gas}`,
      { ...GOOD, gas },
    ]),
    ...['', '0x12', 7, SOLD.slice(2)].map((solver): [string, unknown] => [
      `a solver of ${solver}`,
      { ...GOOD, solver },
    ]),
    ...['true', 1, 0, {}].map((verified): [string, unknown] => [`verified as ${verified}`, { ...GOOD, verified }]),
  ])('%s is invalid', (_, answer) => expect(judge(answer)).toEqual({ outcome: 'invalid' }));
});

describe('a token that a source cannot trade', () => {
  test.each<[string, object, string]>([
    ['the one that is sold', { unsupportedToken: SOLD }, `token ${SOLD} cannot be traded`],
    [
      'the one that is bought, and why',
      { unsupportedToken: BOUGHT, reason: 'it takes a fee' },
      `token ${BOUGHT} cannot be traded: it takes a fee`,
    ],
    [
      'why at no more than 200 letters',
      { unsupportedToken: SOLD, reason: 'x'.repeat(300) },
      `token ${SOLD} cannot be traded: ${'x'.repeat(200)}`,
    ],
    ['a reason that is no text is left out', { unsupportedToken: SOLD, reason: 7 }, `token ${SOLD} cannot be traded`],
    ['though there is an estimate too', { ...GOOD, unsupportedToken: SOLD }, `token ${SOLD} cannot be traded`],
  ])('%s', (_, answer, message) => {
    const judged = judge(answer);
    if (judged.outcome !== 'rejected') throw new Error(judged.outcome);
    expect(judged.error).toBeInstanceOf(OrderBookError);
    expect([judged.error.code, judged.error.message]).toEqual(['UnsupportedToken', message]);
    expect(judged.error.data).toEqual({ token: message.slice(6, 48) });
  });

  test.each([`0x${'dd'.repeat(20)}`, '0x12', 7, '', {}])(
    'is one of the two that it was asked about, not %s',
    (token) => {
      expect(judge({ unsupportedToken: token })).toEqual({ outcome: 'invalid' });
      expect(judge({ ...GOOD, unsupportedToken: token })).toEqual({ outcome: 'invalid' });
    },
  );
});

describe('a plan is kept as every store can hold it, or as an empty one', () => {
  const nested = (depth: number): object => (depth === 1 ? {} : { a: nested(depth - 1) });
  const planOf = (metadata: unknown) => {
    const judged = judge({ ...GOOD, metadata });
    return judged.outcome === 'answered' ? judged.value[0]?.metadata : judged.outcome;
  };
  const ofSize = (size: number) => ({ a: 'x'.repeat(size - 8) });

  test.each<[string, object]>([
    ['64 KiB', ofSize(65_536)],
    ['64 deep', nested(64)],
    ['letters of every kind', { a: 'é漢😀"\\ \u0001' }],
    ['a backslash before what looks like an escape', { a: '\\u0000 \\ud800' }],
    ['an escape of another letter', { a: '\u0007\u001f' }],
  ])('%s', (_, plan) => expect(planOf(plan)).toBe(JSON.stringify(plan)));

  const cycle: { self?: object } = {};
  cycle.self = cycle;
  test.each<[string, unknown]>([
    ['a text', 'plan'],
    ['a list', [1]],
    ['a number', 7],
    ['a date, which is a text', new Date(0)],
    ['what becomes nothing', { toJSON: () => undefined }],
    ['more than 64 KiB', ofSize(65_537)],
    ['65 deep', nested(65)],
    ['a cycle', cycle],
    ['a bigint', { a: 1n }],
    ['the character of number 0', { a: '\0' }],
    ['it behind a backslash', { a: '\\\0' }],
    ['it behind two', { a: '\\\\\0' }],
    ['half of a pair', { a: '\ud83d' }],
    ['the other half', { a: '\ude00' }],
    ['half of a pair as a key', { '\udbff': 1 }],
  ])('%s is left out, and the price counts all the same', (_, plan) => expect(planOf(plan)).toBe('{}'));
});

describe('a price', () => {
  test.each([undefined, null])('%s is none', (answer) => expect(validatePrice(answer)).toEqual({ outcome: 'none' }));

  const most = (MAX / 10n ** 18n).toString();
  test.each(['1', '0.0003', '1e-18', '0.000000000000000001', most, 2, 1n])('%s is taken', (answer) => {
    expect(validatePrice(answer)).toEqual({ outcome: 'answered', value: parseDecimal(answer) });
  });

  test.each([
    '',
    'x',
    '-1',
    '0',
    '9e-19',
    '1e60',
    `${BigInt(most) + 1n}`,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    {},
    [],
    true,
  ])('%s is invalid: 10^18 atoms are worth one wei at least, and less than 2^256', (answer) =>
    expect(validatePrice(answer)).toEqual({ outcome: 'invalid' }),
  );
});

describe('the price in the middle', () => {
  test.each([
    [['7'], '7'],
    [['3', '1', '2'], '2'],
    [['100', '0.5', '30', '2', '9'], '9'],
    [['10', '2'], '6'],
    [['1', '2'], '1.5'],
    [['0.001', '100', '3', '2'], '2.5'],
    [['0.25', '1000'], '500.125'],
  ])('of %j is %s', (prices, middle) => {
    const read = (text: string) => parseDecimal(text) as Decimal; // decimals
    const before = prices.map(read);
    const given = [...before];
    expect(Number(formatDecimal(median(given)))).toBe(Number(middle));
    expect(given).toEqual(before);
  });

  test('of nothing there is none', () => expect(() => median([])).toThrow('prices must not be empty'));
});
