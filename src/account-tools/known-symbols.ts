import { chainById } from '../protocol/chains.ts';
import type { Address } from '../protocol/hex.ts';
import { getNativeCurrency } from '../protocol/native-currency.ts';
import type { TokenLabel } from './token-labels.ts';

/** Addresses of the tokens whose names are most often imitated. On other chains, no token is compared. */
const STABLECOINS: Readonly<Record<number, Readonly<Record<string, Address>>>> = {
  1: {
    USDC: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
    USDT: '0xdac17f958d2ee523a2206206994597c13d831ec7',
    DAI: '0x6b175474e89094c44da98b954eedeac495271d0f',
  },
  100: { USDC: '0xddafbb505ad214d7b80b1f830fccc89b60fb7a83', USDT: '0x4ecaba5870353805a9f068101a40e0f32ed605c6' },
  8453: { USDC: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913' },
  42161: { USDC: '0xaf88d065e77c8cc2239327c5edb3a432268e5831' },
};

/** Returns the label of a token of a chain, without a symbol that belongs to another token. */
export function dropForeignSymbol(chainId: number, token: Address, label: TokenLabel): TokenLabel {
  const symbol = label.symbol?.trim().toUpperCase();
  const chain = chainById(chainId);
  const isForeign =
    symbol === getNativeCurrency(chainId).symbol.toUpperCase() ||
    (symbol === chain?.wrappedSymbol.toUpperCase() && token !== chain?.wrappedNative) ||
    Object.entries(STABLECOINS[chainId] ?? {}).some(([name, address]) => name === symbol && address !== token);
  if (!isForeign) return label;
  const { symbol: _, ...rest } = label;
  return rest;
}
