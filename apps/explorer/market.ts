import type { OrderBook, PoolYield, TokenBalance, TokenHolder } from 'intentbook';
import { AccountError, type Accounts } from 'intentbook/accounts';
import { NATIVE_MARKER } from '#internal';

/** Pools and holders that are shown. */
const MAX_POOLS = 100;
const MAX_HOLDERS = 20;

/** Orders of an account whose tokens have their balance shown, and the number of tokens. */
const BALANCE_ORDERS = 100;
const MAX_BALANCES = 20;

/** Reads the largest holders of a token. `undefined` if no source has them. */
export async function readHolders(
  accounts: Accounts | undefined,
  chainId: number,
  token: string,
): Promise<readonly TokenHolder[] | undefined> {
  const holders = await accounts?.tokens.topHolders(chainId, token).catch((error: unknown) => {
    if (!isSourceMissing(error)) throw error;
  });
  return holders?.slice(0, MAX_HOLDERS);
}

/**
 * Reads the balances of an account above zero: native currency, and the tokens of its newest orders.
 *
 * @returns `undefined` without an account interface or a chain client.
 */
export async function readBalances(
  accounts: Accounts | undefined,
  { chainId, orders: api }: OrderBook,
  account: string,
): Promise<readonly TokenBalance[] | undefined> {
  if (accounts === undefined) return undefined;
  const { orders } = await api.list({ owner: account, limit: BALANCE_ORDERS });
  const tokens = new Set([NATIVE_MARKER, ...orders.flatMap(({ sellToken, buyToken }) => [sellToken, buyToken])]);
  const read = accounts.balances.get(chainId, account, [...tokens].slice(0, MAX_BALANCES));
  const balances = await read.catch(() => undefined); // the failure was reported
  return balances?.filter(({ balance }) => balance !== '0');
}

/** The largest pools of a chain, or the reason why there are none. */
export type ShownPools = { readonly pools: readonly PoolYield[] } | { readonly reason: string };

/** Reads the largest pools of a chain. `undefined` without an account interface. */
export async function readPools(accounts: Accounts | undefined, chainId: number): Promise<ShownPools | undefined> {
  try {
    const pools = await accounts?.pools.list(chainId);
    return pools && { pools: pools.slice(0, MAX_POOLS) };
  } catch (error) {
    if (isSourceMissing(error)) return { reason: error.message };
    throw error;
  }
}

/** Returns whether an error reports that the account interface has no source of the data. */
export function isSourceMissing(error: unknown): error is AccountError {
  return error instanceof AccountError && error.status === 503;
}
