import { NATIVE_MARKER } from '#internal';

/** A token with its symbol and its decimals. */
export interface KnownToken {
  /** Address in lower case. */
  readonly address: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly name?: string;
}

/** Base URLs of block explorers without a trailing slash, by chain id. */
export const BLOCK_EXPLORERS: Readonly<Record<number, string>> = {
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
export async function commonTokens(chainId: number): Promise<ReadonlyMap<string, KnownToken>> {
  const { listKnownTokens } = await import('intentbook/accounts');
  return new Map(
    listKnownTokens(chainId).map((token) => [
      token.address,
      token.address === NATIVE_MARKER ? { ...token, name: 'native currency' } : token,
    ]),
  );
}
