import { describe, expect, test } from 'vitest';
import { dropForeignSymbol } from '../../../src/account-tools/token-labels.ts';
import type { Address } from '../../../src/protocol/hex.ts';

const USDC: Address = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48';
const WETH: Address = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2';
const OTHER: Address = `0x${'1f'.repeat(20)}`;

describe('symbol of a token', () => {
  test.each([
    ['a stablecoin', 1, USDC, 'USDC'],
    ['the wrapped native token', 1, WETH, 'WETH'],
    ['a token with another name', 1, OTHER, 'COWS'],
    ['a token that contains a known name', 1, OTHER, 'aUSDC'],
    ['a stablecoin of a chain whose tokens are not compared', 137, OTHER, 'USDC'],
    ['a name of another chain', 8453, OTHER, 'DAI'],
    ['the wrapped symbol of another chain', 1, OTHER, 'WXDAI'],
    ['the native symbol of another chain', 1, OTHER, 'xDAI'],
  ])('is kept for %s', (_, chainId, token, symbol) => {
    expect(dropForeignSymbol(chainId, token, { decimals: 6, symbol })).toEqual({ decimals: 6, symbol });
  });

  test.each([
    ['a stablecoin', 1, 'USDC'],
    ['a stablecoin in other letters', 1, ' usdc\n'],
    ['a stablecoin of another chain', 100, 'USDT'],
    ['a common token', 1, 'COW'],
    ['a stablecoin of a test chain', 11155111, 'USDC'],
    ['native currency', 1, 'ETH'],
    ['native currency of a chain', 100, 'XDAI'],
    ['native currency of a chain without a table', 424242, 'Eth'],
    ['the wrapped native token', 1, 'WETH'],
    ['the wrapped native token of a chain', 100, 'wxDAI'],
  ])('is dropped for another token with that of %s', (_, chainId, symbol) => {
    expect(dropForeignSymbol(chainId, OTHER, { decimals: 6, symbol })).toEqual({ decimals: 6 });
  });

  test('is not required', () => {
    expect(dropForeignSymbol(1, OTHER, { decimals: 18 })).toEqual({ decimals: 18 });
    expect(dropForeignSymbol(1, OTHER, {})).toEqual({});
  });

  test('of the wrapped native token is dropped for the contract of native currency itself', () => {
    expect(dropForeignSymbol(1, WETH, { symbol: 'ETH' })).toEqual({});
  });
});
