import type { PoolYield, TokenHolder } from 'intentbook';
import { AccountError, type Accounts } from 'intentbook/accounts';

/** Pools and holders that are shown. */
const MAX_POOLS = 100;
const MAX_HOLDERS = 20;

/** Reads the suggested slippage tolerance of a pair. `undefined` without an account interface. */
export async function readSlippage(
  accounts: Accounts | undefined,
  chainId: number,
  base: string,
  quote: string,
): Promise<object | undefined> {
  return accounts?.slippage.get(chainId, base, quote);
}

/** Reads the largest holders of a token. `undefined` if no source has them. */
export async function readHolders(
  accounts: Accounts | undefined,
  chainId: number,
  token: string,
): Promise<readonly TokenHolder[] | undefined> {
  const holders = await accounts?.tokens.topHolders(chainId, token).catch(ignoreMissingSource);
  return holders?.slice(0, MAX_HOLDERS);
}

/** The largest pools of a chain, or the reason why there are none. */
export type ShownPools = { readonly pools: readonly PoolYield[] } | { readonly reason: string };

/** Reads the largest pools of a chain. `undefined` without an account interface. */
export async function readPools(accounts: Accounts | undefined, chainId: number): Promise<ShownPools | undefined> {
  try {
    const pools = await accounts?.pools.list(chainId);
    return pools && { pools: pools.slice(0, MAX_POOLS) };
  } catch (error) {
    if (error instanceof AccountError && error.status === 503) return { reason: error.message };
    throw error;
  }
}

function ignoreMissingSource(error: unknown): undefined {
  if (error instanceof AccountError && error.status === 503) return undefined;
  throw error;
}
