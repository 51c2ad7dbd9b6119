import type { Trade } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { OrderBookError } from '../../../src/errors.ts';
import type { Decimal } from '../../../src/protocol/decimal.ts';
import { formatDecimal, parseDecimal } from '../../../src/protocol/decimal.ts';
import { median, validateEstimate, validatePrice } from '../../../src/quotes/estimate-validation.ts';

const SOLD = `0x${'e1'.repeat(20)}`;
const BOUGHT = `0x${'c0'.repeat(20)}`;
const TRADE = { sellToken: SOLD, buyToken: BOUGHT } as Trade; // the members that are read
const ZERO = `0x${'0'.repeat(40)}`;
const MAX = 2n ** 256n - 1n;

const validate = (answer: unknown) => validateEstimate('source', TRADE, answer);
const GOOD = { amount: 7n, gas: 100 };
const SOUND = { source: 'source', amount: 7n, gas: 100n, solver: ZERO, verified: false, metadata: '{}' };

describe('estimate validation', () => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['no route', []],
  ])('treats %s as no estimate', (_, answer) => expect(validate(answer)).toEqual({ outcome: 'none' }));

  test.each<[string, unknown, readonly object[]]>([
    ['the minimum', GOOD, [SOUND]],
    [
      'nulls for absent members',
      { ...GOOD, solver: null, verified: null, metadata: null, unsupportedToken: null },
      [SOUND],
    ],
    [
      'everything',
      { ...GOOD, solver: SOLD.toUpperCase().replace('X', 'x'), verified: true, metadata: { plan: [1] } },
      [{ ...SOUND, solver: SOLD, verified: true, metadata: '{"plan":[1]}' }],
    ],
    [
      'maximum values',
      { amount: MAX, gas: Number.MAX_SAFE_INTEGER },
      [{ ...SOUND, amount: MAX, gas: BigInt(Number.MAX_SAFE_INTEGER) }],
    ],
    ['several routes', [GOOD, { ...GOOD, gas: 1 }], [SOUND, { ...SOUND, gas: 1n }]],
    ['sixteen routes', Array(16).fill(GOOD), Array(16).fill(SOUND)],
  ])('accepts %s', (_, answer, value) => expect(validate(answer)).toEqual({ outcome: 'responded', value }));

  test.each<[string, unknown]>([
    ...['7', 7, true, 7n, () => GOOD, Symbol('x')].map((answer): [string, unknown] => [typeof answer, answer]),
    ['an empty object', {}],
    ['one route too many', Array(17).fill(GOOD)],
    ['one valid route and undefined', [GOOD, null]],
    ['one valid route and a string', [GOOD, 'x']],
    ['one valid route and an invalid one', [GOOD, { ...GOOD, gas: 0 }]],
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
  ])('rejects %s', (_, answer) => expect(validate(answer)).toEqual({ outcome: 'invalid' }));
});

describe('unsupported token', () => {
  test.each<[string, object, string]>([
    ['the sell token', { unsupportedToken: SOLD }, `token ${SOLD} cannot be traded`],
    [
      'the buy token with a reason',
      { unsupportedToken: BOUGHT, reason: 'it takes a fee' },
      `token ${BOUGHT} cannot be traded: it takes a fee`,
    ],
    [
      'a reason truncated to 200 characters',
      { unsupportedToken: SOLD, reason: 'x'.repeat(300) },
      `token ${SOLD} cannot be traded: ${'x'.repeat(200)}`,
    ],
    [
      'a reason that is not text, which is omitted',
      { unsupportedToken: SOLD, reason: 7 },
      `token ${SOLD} cannot be traded`,
    ],
    ['an additional estimate', { ...GOOD, unsupportedToken: SOLD }, `token ${SOLD} cannot be traded`],
  ])('is accepted with %s', (_, answer, message) => {
    const validated = validate(answer);
    if (validated.outcome !== 'rejected') throw new Error(validated.outcome);
    expect(validated.error).toBeInstanceOf(OrderBookError);
    expect([validated.error.code, validated.error.message]).toEqual(['UnsupportedToken', message]);
    expect(validated.error.data).toEqual({ token: message.slice(6, 48) });
  });

  test.each([`0x${'dd'.repeat(20)}`, '0x12', 7, '', {}])('must be one of the two requested tokens, not %s', (token) => {
    expect(validate({ unsupportedToken: token })).toEqual({ outcome: 'invalid' });
    expect(validate({ ...GOOD, unsupportedToken: token })).toEqual({ outcome: 'invalid' });
  });
});

describe('calls of a route', () => {
  const CALL = { target: SOLD, value: '5', callData: '0x12' };
  const read = (interactions: unknown, metadata?: unknown) => {
    const validated = validate({ ...GOOD, interactions, metadata });
    return validated.outcome === 'responded' ? validated.value[0] : validated.outcome;
  };

  test.each([
    ['64 calls', Array.from({ length: 64 }, () => CALL), Array.from({ length: 64 }, () => CALL)],
    ['no calls', [], []],
    ['the largest value, with zeros in front', [{ ...CALL, value: String(MAX) }], [{ ...CALL, value: String(MAX) }]],
    ['zeros in front of a value', [{ ...CALL, value: '007' }], [{ ...CALL, value: '7' }]],
    [
      'capitals',
      [{ ...CALL, target: SOLD.toUpperCase().replace('X', 'x'), callData: '0xAB' }],
      [{ ...CALL, callData: '0xab' }],
    ],
    [
      '48 KiB of data',
      [{ ...CALL, callData: `0x${'00'.repeat(24 * 1024 - 1)}` }],
      [{ ...CALL, callData: `0x${'00'.repeat(24 * 1024 - 1)}` }],
    ],
  ])('are accepted with %s', (_, given, expected) => {
    expect(read(given)).toMatchObject({ interactions: expected });
  });

  test.each<[string, unknown]>([
    ['text', 'calls'],
    ['65 calls', Array.from({ length: 65 }, () => CALL)],
    ['a call that is text', [CALL, 'call']],
    ['a call that is null', [null]],
    ['a value with a sign', [{ ...CALL, value: '-5' }]],
    ['a value with a space', [{ ...CALL, value: '5 ' }]],
    ['a value in hex', [{ ...CALL, value: '0x5' }]],
    ['an empty value', [{ ...CALL, value: '' }]],
    ['a value of 79 digits', [{ ...CALL, value: '0'.repeat(79) }]],
    ['a value above 256 bits', [{ ...CALL, value: String(MAX + 1n) }]],
    ['data with half a byte', [{ ...CALL, callData: '0x1' }]],
    ['more than 48 KiB of data', [CALL, { ...CALL, callData: `0x${'00'.repeat(24 * 1024 - 1)}` }]],
  ])('are invalid with %s', (_, given) => expect(read(given)).toBe('invalid'));

  const plan = { version: '1.0', interactions: [CALL], preInteractions: [], jitOrders: [] };
  test.each([
    ['none', undefined, {}],
    ['null', null, {}],
    ['members', { jitOrders: [1], extra: 2 }, { jitOrders: [1], extra: 2 }],
    ['text', 'plan', {}],
    ['a list', [1], {}],
  ])('are added to metadata: %s', (_, metadata, members) => {
    const estimate = read([CALL], metadata);
    const text = typeof estimate === 'object' ? estimate.metadata : '';
    expect(JSON.parse(text)).toEqual({ ...plan, ...members });
  });

  test.each([undefined, null])('are absent for %s', (interactions) => {
    expect(read(interactions)).not.toHaveProperty('interactions');
  });
});

describe('rejection of a solver', () => {
  test.each([
    ['InsufficientLiquidity', 'none', 'InsufficientLiquidity', 'none'],
    ['TradingOutsideAllowedWindow', 'x'.repeat(300), 'TradingOutsideAllowedWindow', 'x'.repeat(200)],
    ['Unheard', 'of', 'CustomSolverError', 'of'],
  ])('%s with a reason becomes %#', (rejection, reason, detail, message) => {
    expect(validate({ rejection, reason })).toMatchObject({
      outcome: 'rejected',
      error: { code: 'NoLiquidity', message, data: { reason: detail } },
    });
  });
});

describe('execution plan', () => {
  const nested = (depth: number): object => (depth === 1 ? {} : { a: nested(depth - 1) });
  const planOf = (metadata: unknown) => {
    const validated = validate({ ...GOOD, metadata });
    return validated.outcome === 'responded' ? validated.value[0]?.metadata : validated.outcome;
  };
  const ofSize = (size: number) => ({ a: 'x'.repeat(size - 8) });

  test.each<[string, object]>([
    ['64 KiB', ofSize(65_536)],
    ['64 deep', nested(64)],
    ['characters of every kind', { a: 'é漢😀"\\ \u0001' }],
    ['a backslash before an apparent escape', { a: '\\u0000 \\ud800' }],
    ['an escape of another character', { a: '\u0007\u001f' }],
  ])('is stored unchanged with %s', (_, plan) => expect(planOf(plan)).toBe(JSON.stringify(plan)));

  const cycle: { self?: object } = {};
  cycle.self = cycle;
  test.each<[string, unknown]>([
    ['a string', 'plan'],
    ['a list', [1]],
    ['a number', 7],
    ['a date, which serialises to text', new Date(0)],
    ['a value that serialises to nothing', { toJSON: () => undefined }],
    ['more than 64 KiB', ofSize(65_537)],
    ['65 deep', nested(65)],
    ['a cycle', cycle],
    ['a bigint', { a: 1n }],
    ['the NUL character', { a: '\0' }],
    ['a NUL behind a backslash', { a: '\\\0' }],
    ['a NUL behind two backslashes', { a: '\\\\\0' }],
    ['a high surrogate', { a: '\ud83d' }],
    ['a low surrogate', { a: '\ude00' }],
    ['a lone surrogate in a key', { '\udbff': 1 }],
  ])('is omitted without rejecting the price if it is %s', (_, plan) => expect(planOf(plan)).toBe('{}'));
});

describe('native price validation', () => {
  test.each([undefined, null])('treats %s as no price', (answer) =>
    expect(validatePrice(answer)).toEqual({ outcome: 'none' }),
  );

  const most = (MAX / 10n ** 18n).toString();
  test.each(['1', '0.0003', '1e-18', '0.000000000000000001', most, 2, 1n])('accepts %s', (answer) => {
    expect(validatePrice(answer)).toEqual({ outcome: 'responded', value: parseDecimal(answer) });
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
  ])('rejects %s: 10^18 atoms are worth between one wei and 2^256', (answer) =>
    expect(validatePrice(answer)).toEqual({ outcome: 'invalid' }),
  );
});

describe('median price', () => {
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

  test('of no prices is undefined', () => expect(() => median([])).toThrow('prices must not be empty'));
});
