import { chainById, NATIVE_MARKER } from '#internal';

/** A token with its symbol and its decimals. */
export interface KnownToken {
  /** Address in lower case. */
  readonly address: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly name?: string;
}

/** Address, symbol and decimals of common tokens, by chain id. Wrapped native currencies are added from the chains. */
const COMMON: Readonly<Record<number, readonly (readonly [string, string, number])[]>> = {
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

/** Native currencies whose symbol is not the wrapped symbol without its W. */
const NATIVE_SYMBOLS: Readonly<Record<number, string>> = { 100: 'xDAI' };

/** Base URLs of block explorers, by chain id. */
const BLOCK_EXPLORERS: Readonly<Record<number, string>> = {
  1: 'https://etherscan.io',
  56: 'https://bscscan.com',
  100: 'https://gnosisscan.io',
  137: 'https://polygonscan.com',
  232: 'https://explorer.lens.xyz',
  8453: 'https://basescan.org',
  9745: 'https://plasmascan.to',
  42161: 'https://arbiscan.io',
  43114: 'https://snowtrace.io',
  57073: 'https://explorer.inkonchain.com',
  59144: 'https://lineascan.build',
  11155111: 'https://sepolia.etherscan.io',
};

/** Returns common tokens of a chain, its wrapped native currency, and its native currency, by address. */
export function commonTokens(chainId: number): ReadonlyMap<string, KnownToken> {
  const chain = chainById(chainId);
  const symbol = NATIVE_SYMBOLS[chainId] ?? chain?.wrappedSymbol.slice(1) ?? 'ETH';
  const tokens: KnownToken[] = [{ address: NATIVE_MARKER, symbol, decimals: 18, name: 'native currency' }];
  if (chain !== undefined) {
    tokens.push({ address: chain.wrappedNative, symbol: chain.wrappedSymbol, decimals: 18 });
  }
  for (const [address, symbol, decimals] of COMMON[chainId] ?? []) tokens.push({ address, symbol, decimals });
  return new Map(tokens.map((token) => [token.address, token]));
}

/** Returns the base URL of a chain's block explorer, without a trailing slash. */
export function blockExplorer(chainId: number): string | undefined {
  return BLOCK_EXPLORERS[chainId];
}
