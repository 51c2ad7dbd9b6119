import { chainById, NATIVE_MARKER } from '../protocol/chains.ts';
import type { Address } from '../protocol/hex.ts';
import { getNativeCurrency, getWrappedSymbol } from '../protocol/native-currency.ts';
import type { Order } from '../records/wire-order.ts';

/** Decimals and symbol of a token, if known. */
export interface TokenLabel {
  /** Number of decimals: one whole token is 10^decimals atoms. */
  readonly decimals?: number;
  readonly symbol?: string;
  /** Whether only the contract states the symbol, which may imitate another token. Messages add the address. */
  readonly isUnverified?: boolean;
}

/** Returns the label of a token, if known. MUST NOT guess: a token may have other than 18 decimals. */
export type TokenLookup = (chainId: number, token: Address) => TokenLabel | undefined | Promise<TokenLabel | undefined>;

export interface OrderTokens {
  readonly sell: TokenLabel | undefined;
  readonly buy: TokenLabel | undefined;
}

/** Loads the labels of the orders' tokens, each once. */
export async function findTokens(
  orders: readonly LabelledOrder[],
  lookup: (token: Address) => ReturnType<TokenLookup>,
  onFailure: (failure: unknown) => void,
): Promise<(order: LabelledOrder) => OrderTokens> {
  const known = new Map<Address, TokenLabel | undefined>();
  const tokens = new Set(orders.flatMap((order) => [getSoldToken(order), order.buyToken]));
  await Promise.all(
    [...tokens].map(async (token) => {
      try {
        known.set(token, await lookup(token));
      } catch (failure) {
        // Without a label the message shows atoms.
        onFailure(failure);
      }
    }),
  );
  return (order) => ({ sell: known.get(getSoldToken(order)), buy: known.get(order.buyToken) });
}

type LabelledOrder = Pick<Order, 'sellToken' | 'buyToken' | 'ethflowData'>;

/** Returns the token that the trader sells: native currency, if its contract wraps it and places the order. */
const getSoldToken = ({ sellToken, ethflowData }: LabelledOrder) =>
  ethflowData === undefined ? sellToken : NATIVE_MARKER;

/** Address, symbol and decimals of common tokens, by chain id. */
const COMMON: Readonly<Record<number, readonly (readonly [Address, string, number])[]>> = {
  1: [
    ['0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48', 'USDC', 6],
    ['0xdac17f958d2ee523a2206206994597c13d831ec7', 'USDT', 6],
    ['0x6b175474e89094c44da98b954eedeac495271d0f', 'DAI', 18],
    ['0x2260fac5e5542a773aa44fbcfedf7c193bc2c599', 'WBTC', 8],
    ['0xdef1ca1fb7fbcdc777520aa7f396b4e015f497ab', 'COW', 18],
    ['0x6810e776880c02933d47db1b9fc05908e5386b96', 'GNO', 18],
  ],
  100: [
    ['0xddafbb505ad214d7b80b1f830fccc89b60fb7a83', 'USDC', 6],
    ['0x4ecaba5870353805a9f068101a40e0f32ed605c6', 'USDT', 6],
    ['0x177127622c4a00f3d409b75571e12cb3c8973d3c', 'COW', 18],
    ['0x9c58bacc331c9aa871afd802db6379a98e80cedb', 'GNO', 18],
  ],
  8453: [['0x833589fcd6edb6e08f4c7c32d4f71b54bda02913', 'USDC', 6]],
  42161: [['0xaf88d065e77c8cc2239327c5edb3a432268e5831', 'USDC', 6]],
  11155111: [
    ['0x0625afb445c3b6b7b929342a04a22599fd5dbb59', 'COW', 18],
    ['0xbe72e441bf55620febc26715db68d3494213d8cb', 'USDC', 18],
  ],
};

/** A token with its symbol and its decimals. */
export interface ListedToken {
  /** Address in lower case. */
  readonly address: Address;
  readonly symbol: string;
  readonly decimals: number;
}

/**
 * Lists native currency, at its address `0xeeee…ee`, the wrapped native currency of a known chain, and common tokens.
 *
 * ```ts
 * const tokens = (chainId, address) => listKnownTokens(chainId).find((token) => token.address === address);
 * ```
 */
export function listKnownTokens(chainId: number): ListedToken[] {
  const chain = chainById(chainId);
  const { symbol, decimals } = getNativeCurrency(chainId);
  const wrapped =
    chain === undefined
      ? []
      : [{ address: chain.wrappedNative, symbol: getWrappedSymbol(chain.chainId), decimals: 18 }];
  const common = (COMMON[chainId] ?? []).map(([address, symbol, decimals]) => ({ address, symbol, decimals }));
  return [{ address: NATIVE_MARKER, symbol, decimals }, ...wrapped, ...common];
}

/** Returns the label of a token of a chain, without a symbol that belongs to another token. */
export function dropForeignSymbol(chainId: number, token: Address, label: TokenLabel): TokenLabel {
  const symbol = label.symbol?.trim().toUpperCase();
  const isForeign = listKnownTokens(chainId).some(
    (known) => known.symbol.toUpperCase() === symbol && known.address !== token,
  );
  if (!isForeign) return label;
  const { symbol: _, ...rest } = label;
  return rest;
}
