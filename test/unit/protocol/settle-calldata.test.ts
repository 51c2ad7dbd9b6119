import fc from 'fast-check';
import { concatHex, encodeFunctionData, numberToHex, toFunctionSelector } from 'viem';
import { expect, test } from 'vitest';
import type { Hex } from '../../../src/protocol/hex.ts';
import { decodeSettle, SETTLE_SELECTOR } from '../../../src/protocol/settle-calldata.ts';
import { SETTLE_ABI } from '../../support/settlement.ts';

const hex = (size: number) =>
  fc.uint8Array({ minLength: size, maxLength: size }).map((value): Hex => `0x${Buffer.from(value).toString('hex')}`);
const amount = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });

/** Few tokens, so that some stand twice: with the prices of all, and with those of one trade. */
const tokens = fc.array(fc.tuple(fc.constantFrom(...['a1', 'b2', 'c3'].map((n): Hex => `0x${n.repeat(20)}`)), amount), {
  minLength: 1,
  maxLength: 8,
});
const settlement = tokens.chain((priced) =>
  fc.record({
    priced: fc.constant(priced),
    trades: fc.array(
      fc.record({
        ...{ sell: fc.nat(priced.length - 1), buy: fc.nat(priced.length - 1), flags: fc.nat(127) },
        ...{ sellAmount: amount, buyAmount: amount, executedAmount: amount, signature: hex(65) },
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
        ...{ ...trade, sellTokenIndex: BigInt(sell), buyTokenIndex: BigInt(buy), flags: BigInt(flags) },
        ...({ receiver: `0x${'00'.repeat(20)}`, validTo: 0, appData: `0x${'00'.repeat(32)}`, feeAmount: 0n } as const),
      })),
      [[{ target: `0x${'d4'.repeat(20)}`, value: 1n, callData: '0x1234' }], [], []],
    ],
  });
  return auctionId === null ? data : concatHex([data, numberToHex(auctionId, { size: 8 })]);
}

test('calldata of settle is decoded as an independent encoder wrote it', () => {
  expect(SETTLE_SELECTOR).toBe(toFunctionSelector(SETTLE_ABI[0]));
  fc.assert(
    fc.property(settlement, (choice) => {
      const { priced, trades, auctionId } = choice;
      const first = (token: Hex | undefined) => priced.find(([each]) => each === token)?.[1];
      expect(decodeSettle(encode(choice))).toEqual({
        auctionId,
        trades: trades.map(({ sell, buy, flags, sellAmount, buyAmount, executedAmount }) => ({
          ...{ sellToken: priced[sell]?.[0], buyToken: priced[buy]?.[0], sellAmount, buyAmount, executedAmount },
          ...{ kind: flags % 2 === 0 ? 'sell' : 'buy', partiallyFillable: (flags & 2) === 2 },
          custom: { sell: priced[sell]?.[1], buy: priced[buy]?.[1] },
          uniform: { sell: first(priced[sell]?.[0]), buy: first(priced[buy]?.[0]) },
        })),
      });
    }),
    { numRuns: 200 },
  );
});

test('calldata that is cut off or damaged is nothing, or something, but no fault', () => {
  fc.assert(
    fc.property(settlement, fc.nat(), fc.nat(), hex(4), (choice, from, at, noise) => {
      const data = encode(choice);
      decodeSettle(data.slice(0, 2 + (from % data.length)));
      const place = 10 + (at % (data.length - 18));
      decodeSettle(data.slice(0, place) + noise.slice(2) + data.slice(place + 8));
    }),
    { numRuns: 500 },
  );
  expect(decodeSettle('0x')).toBeUndefined();
  expect(decodeSettle('0x12345678')).toBeUndefined();
});
