import { encodeFunctionData } from 'viem';
import { describe, expect, test } from 'vitest';
import type { Hex } from '../../../src/protocol/hex.ts';
import { decodeSettledOrder } from '../../../src/protocol/settled-order.ts';
import { SETTLE_ABI } from '../../support/settlement.ts';

const address = (byte: string): Hex => `0x${byte.repeat(20)}`;
const [SOLD, BOUGHT, RECEIVER] = [address('a1'), address('b2'), address('c3')];
const APP_DATA: Hex = `0x${'d4'.repeat(32)}`;
const TRADE = {
  sellTokenIndex: 0n,
  buyTokenIndex: 1n,
  receiver: RECEIVER,
  sellAmount: 11n,
  buyAmount: 12n,
  validTo: 2 ** 32 - 1,
  appData: APP_DATA,
  feeAmount: 13n,
  flags: 0n,
  executedAmount: 14n,
  signature: `0x${'e5'.repeat(65)}` as Hex,
};

const settle = (...trades: readonly Partial<typeof TRADE>[]): Hex =>
  encodeFunctionData({
    abi: SETTLE_ABI,
    functionName: 'settle',
    args: [[SOLD, BOUGHT], [1n, 1n], trades.map((changes) => ({ ...TRADE, ...changes })), [[], [], []]],
  });

/** Position of the first word of the only trade. */
const FIRST = 2 + 8 + 64 * (4 + 3 + 3 + 1 + 1);

/** Replaces a word of the only trade. */
function withWord(index: number, word: string): Hex {
  const input = settle({});
  const at = FIRST + 64 * index;
  return `0x${input.slice(2, at)}${word.padStart(64, '0')}${input.slice(at + 64)}`;
}

describe('order of a settlement', () => {
  test('has the signed terms', () => {
    expect(decodeSettledOrder(settle({}), 0)).toEqual({
      data: {
        sellToken: SOLD,
        buyToken: BOUGHT,
        receiver: RECEIVER,
        sellAmount: 11n,
        buyAmount: 12n,
        validTo: 2 ** 32 - 1,
        appData: APP_DATA,
        feeAmount: 13n,
        kind: 'sell',
        partiallyFillable: false,
        sellTokenBalance: 'erc20',
        buyTokenBalance: 'erc20',
      },
      signingScheme: 'eip712',
      signature: TRADE.signature,
    });
    expect(decodeSettledOrder(settle({ receiver: address('00') }), 0)?.data.receiver).toBeNull();
  });

  test.each([
    [1, { kind: 'buy' }],
    [2, { partiallyFillable: true }],
    [4, { sellTokenBalance: 'erc20' }],
    [8, { sellTokenBalance: 'external' }],
    [12, { sellTokenBalance: 'internal' }],
    [16, { buyTokenBalance: 'internal' }],
  ])('has the terms of the flags %i', (flags, terms) => {
    expect(decodeSettledOrder(settle({ flags: BigInt(flags) }), 0)?.data).toMatchObject(terms);
  });

  test.each([
    [0, 'eip712', TRADE.signature],
    [32, 'ethsign', TRADE.signature],
    [64, 'eip1271', `0x${'e5'.repeat(45)}`], // without the owner
    [96, 'presign', '0x'],
  ])('has the signature of the flags %i', (flags, signingScheme, signature) => {
    expect(decodeSettledOrder(settle({ flags: BigInt(flags) }), 0)).toMatchObject({ signingScheme, signature });
  });

  test('is that of the trade', () => {
    const input = settle({ sellAmount: 1n }, { sellAmount: 2n });
    expect([0, 1].map((index) => decodeSettledOrder(input, index)?.data.sellAmount)).toEqual([1n, 2n]);
    expect(decodeSettledOrder(input, 2)).toBeUndefined();
    expect(decodeSettledOrder(settle(), 0)).toBeUndefined();
  });

  test('is unknown for another function', () => {
    const input = settle({});
    expect(decodeSettledOrder(`0x12345678${input.slice(10)}`, 0)).toBeUndefined();
    expect(decodeSettledOrder('0x', 0)).toBeUndefined();
  });

  test('words are where the test replaces them', () => {
    expect(decodeSettledOrder(withWord(3, '77'), 0)?.data.sellAmount).toBe(0x77n);
    expect(decodeSettledOrder(withWord(0, '1'), 0)?.data.sellToken).toBe(BOUGHT);
  });

  test.each([
    ['a sold token that is not listed', 0, '2'],
    ['a bought token that is not listed', 1, '2'],
    ['a sold token with a large index', 0, 'f'.repeat(64)],
    ['a bought token with a large index', 1, 'f'.repeat(64)],
    ['a receiver of more than 20 bytes', 2, `1${'0'.repeat(40)}`],
    ['a validity of more than 32 bits', 5, '100000000'],
    ['a validity of more than 48 bits', 5, 'f'.repeat(64)],
    ['large flags', 8, 'f'.repeat(64)],
    ['a signature outside of the data', 10, 'ffff'],
    ['a signature with a large offset', 10, 'f'.repeat(64)],
  ])('is unknown with %s', (_, index, word) => {
    expect(decodeSettledOrder(withWord(index, word), 0)).toBeUndefined();
  });

  test('is unknown if the data ends early, wherever that is', () => {
    const input = settle({});
    // The words after the signature are the interactions, which are not part of the order.
    const end = FIRST + 64 * (11 + 1 + 3);
    for (let length = 10; length < end; length += 64) {
      const cut = input.slice(0, length);
      expect([length, decodeSettledOrder(cut, 0)]).toEqual([length, undefined]);
    }
    expect(decodeSettledOrder(input.slice(0, end), 0)).toBeDefined();
  });
});
