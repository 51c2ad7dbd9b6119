import fc from 'fast-check';
import { concatHex, encodeFunctionData, numberToHex, toFunctionSelector } from 'viem';
import { describe, expect, test } from 'vitest';
import { SETTLE_SELECTOR } from '../../../src/protocol/chains.ts';
import type { Hex } from '../../../src/protocol/hex.ts';
import { decodeSettle } from '../../../src/protocol/settle-calldata.ts';
import { decodeSettledOrder } from '../../../src/protocol/settled-order.ts';
import { SETTLE_ABI } from '../../support/settlement.ts';

const hex = (size: number) =>
  fc.uint8Array({ minLength: size, maxLength: size }).map((value): Hex => `0x${Buffer.from(value).toString('hex')}`);
const amount = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });

/** Few tokens, so that some occur twice: with uniform prices, and with prices of one trade. */
const tokens = fc.array(fc.tuple(fc.constantFrom(...['a1', 'b2', 'c3'].map((n): Hex => `0x${n.repeat(20)}`)), amount), {
  minLength: 1,
  maxLength: 8,
});
const settlement = tokens.chain((priced) =>
  fc.record({
    priced: fc.constant(priced),
    trades: fc.array(
      fc.record({
        sell: fc.nat(priced.length - 1),
        buy: fc.nat(priced.length - 1),
        flags: fc.nat(127),
        sellAmount: amount,
        buyAmount: amount,
        executedAmount: amount,
        signature: hex(65),
      }),
      { maxLength: 5 },
    ),
    auctionId: fc.option(fc.nat(2 ** 31 - 1)),
  }),
);

function encode({ priced, trades, auctionId }: typeof settlement extends fc.Arbitrary<infer S> ? S : never): Hex {
  const data = encodeFunctionData({
    abi: SETTLE_ABI,
    functionName: 'settle',
    args: [
      priced.map(([token]) => token),
      priced.map(([, price]) => price),
      trades.map(({ sell, buy, flags, ...trade }) => ({
        ...trade,
        sellTokenIndex: BigInt(sell),
        buyTokenIndex: BigInt(buy),
        flags: BigInt(flags),
        ...({ receiver: `0x${'00'.repeat(20)}`, validTo: 0, appData: `0x${'00'.repeat(32)}`, feeAmount: 0n } as const),
      })),
      [[{ target: `0x${'d4'.repeat(20)}`, value: 1n, callData: '0x1234' }], [], []],
    ],
  });
  return auctionId === null ? data : concatHex([data, numberToHex(auctionId, { size: 8 })]);
}

test('settle calldata decoder matches an independent encoder', () => {
  expect(SETTLE_SELECTOR).toBe(toFunctionSelector(SETTLE_ABI[0]));
  fc.assert(
    fc.property(settlement, (choice) => {
      const { priced, trades, auctionId } = choice;
      const first = (token: Hex | undefined) => priced.find(([each]) => each === token)?.[1];
      expect(decodeSettle(encode(choice))).toEqual({
        auctionId,
        trades: trades.map(({ sell, buy, flags, sellAmount, buyAmount, executedAmount }) => ({
          sellToken: priced[sell]?.[0],
          buyToken: priced[buy]?.[0],
          sellAmount,
          buyAmount,
          executedAmount,
          kind: flags % 2 === 0 ? 'sell' : 'buy',
          partiallyFillable: (flags & 2) === 2,
          custom: { sell: priced[sell]?.[1], buy: priced[buy]?.[1] },
          uniform: { sell: first(priced[sell]?.[0]), buy: first(priced[buy]?.[0]) },
        })),
      });
    }),
    { numRuns: 200 },
  );
});

test('decoder of settled orders matches an independent encoder', () => {
  const sources = ['erc20', 'erc20', 'external', 'internal'];
  const schemes = ['eip712', 'ethsign', 'eip1271', 'presign'];
  fc.assert(
    fc.property(settlement, (choice) => {
      const { priced, trades } = choice;
      const data = encode(choice);
      for (const [i, { sell, buy, flags, sellAmount, buyAmount, signature }] of trades.entries()) {
        const scheme = schemes[flags >> 5];
        const wire = { eip1271: `0x${signature.slice(42)}`, presign: '0x' }[scheme ?? ''] ?? signature;
        expect(decodeSettledOrder(data, i)).toEqual({
          signingScheme: scheme,
          signature: wire,
          data: {
            sellToken: priced[sell]?.[0],
            buyToken: priced[buy]?.[0],
            receiver: null,
            sellAmount,
            buyAmount,
            validTo: 0,
            appData: `0x${'00'.repeat(32)}`,
            feeAmount: 0n,
            kind: flags % 2 === 0 ? 'sell' : 'buy',
            partiallyFillable: (flags & 2) === 2,
            sellTokenBalance: sources[(flags >> 2) & 3],
            buyTokenBalance: (flags & 16) === 16 ? 'internal' : 'erc20',
          },
        });
      }
      expect(decodeSettledOrder(data, trades.length)).toBeUndefined();
      expect(decodeSettledOrder('0x12345678', 0)).toBeUndefined();
    }),
    { numRuns: 100 },
  );
});

test('settle calldata decoder never fails on truncated or damaged data', () => {
  fc.assert(
    fc.property(settlement, fc.nat(), fc.nat(), hex(4), (choice, from, at, noise) => {
      const data = encode(choice);
      decodeSettle(data.slice(0, 2 + (from % data.length)));
      const place = 10 + (at % (data.length - 18));
      const damaged = data.slice(0, place) + noise.slice(2) + data.slice(place + 8);
      decodeSettle(damaged);
      for (const text of [data.slice(0, place), damaged]) decodeSettledOrder(text, from % 5);
    }),
    { numRuns: 500 },
  );
  expect(decodeSettle('0x')).toBeUndefined();
  expect(decodeSettle('0x12345678')).toBeUndefined();
});

describe('settle calldata decoder rejects', () => {
  const token: Hex = `0x${'a1'.repeat(20)}`;
  const trade = {
    sell: 0,
    buy: 1,
    flags: 0,
    sellAmount: 1n,
    buyAmount: 2n,
    executedAmount: 3n,
    signature: '0x' as Hex,
  };
  const GOOD = encode({
    priced: [[token, 5n] as [Hex, bigint], [`0x${'b2'.repeat(20)}`, 7n] as [Hex, bigint]],
    auctionId: null,
    trades: [trade],
  });
  const HEAD = 10;
  const word = (value: number) => value.toString(16).padStart(64, '0');
  const wordAt = (data: Hex, place: number) =>
    Number.parseInt(data.slice(HEAD + 64 * place, HEAD + 64 * (place + 1)), 16);
  const withWord = (place: number, text: string, data = GOOD): Hex =>
    `0x${data.slice(2, HEAD + 64 * place)}${text}${data.slice(HEAD + 64 * (place + 1))}`;
  // Offsets of the lists, in words: their lengths come first. Trade offsets count from behind the length.
  const [tokens = 0, prices = 0, trades = 0] = [0, 1, 2].map((place) => wordAt(GOOD, place) / 32);
  const first = trades + 1 + wordAt(GOOD, trades + 1) / 32;
  const FULL = 'f'.repeat(64);

  test.each([
    ['missing tokens', 0, FULL],
    ['tokens beyond the end', 0, word(1_000_000)],
    ['missing prices', 1, FULL],
    ['missing trades', 2, FULL],
    ['an invalid token address', tokens + 1, FULL],
    ['fewer tokens than prices', tokens, word(1)],
    ['fewer prices than tokens', prices, word(1)],
    ['more tokens than data', tokens, word(9_000)],
    ['a missing trade offset', trades + 1, FULL],
    ['a trade beyond the end', trades + 1, word(1_000_000)],
    ['a missing sell token index', first, FULL],
    ['an unknown sell token', first, word(2)],
    ['a missing buy token index', first + 1, FULL],
    ['an unknown buy token', first + 1, word(2)],
    ['missing flags', first + 8, FULL],
  ])('%s', (_, place, text) => {
    expect(decodeSettle(GOOD)?.trades).toHaveLength(1);
    expect(decodeSettle(withWord(place, text))).toBeUndefined();
  });

  test('a trade without its last word', () => {
    const end = HEAD + 64 * (first + 10);
    expect(decodeSettle(GOOD.slice(0, end))).toBeDefined();
    expect(decodeSettle(GOOD.slice(0, end - 64))).toBeUndefined();
  });

  test('more than ten thousand entries', () => {
    const many = (count: number) => {
      const list = `${word(count)}${word(1).repeat(count)}`;
      return `${SETTLE_SELECTOR}${word(96)}${word(96)}${word(96 + list.length / 2)}${list}${word(0)}`;
    };
    expect(decodeSettle(many(10_000))).toEqual({ trades: [], auctionId: null });
    expect(decodeSettle(many(10_001))).toBeUndefined();
  });

  test('another function with equal data', () => {
    expect(decodeSettle(`0x13d79a0c${GOOD.slice(HEAD)}`)).toBeUndefined();
  });
});

test('settle calldata decoder reads the auction id from the eight trailing bytes if it is a safe integer', () => {
  const data = encode({ priced: [[`0x${'a1'.repeat(20)}`, 1n]], trades: [], auctionId: null });
  const auctionOf = (tail: string) => decodeSettle(`${data}${tail}`)?.auctionId;
  expect(auctionOf((12345).toString(16).padStart(16, '0'))).toBe(12345);
  expect(auctionOf(Number.MAX_SAFE_INTEGER.toString(16).padStart(16, '0'))).toBe(Number.MAX_SAFE_INTEGER);
  for (const none of ['', '00', 'f'.repeat(16), '0'.repeat(14), '0'.repeat(18)]) expect(auctionOf(none)).toBeNull();
});
