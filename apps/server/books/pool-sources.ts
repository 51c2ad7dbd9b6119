import type { PoolSource } from 'intentbook';
import { chainById } from '#internal';
import type { ServerPlan } from '../config/plan.ts';
import { createNodeClient } from './chain-options.ts';

/** The factory of Uniswap V2 on Ethereum mainnet, whose pools are read by default. */
const FACTORIES: Readonly<Record<number, string>> = { 1: '0x5c69bee701ef814a2b6a3edd4b1652cb9cc5aa6f' };

/** Returns US dollars for one whole token. */
type UsdPrice = (chainId: number, token: string) => Promise<number | undefined>;

/** Creates the sources of pools: a document at a URL, then the pairs of the tokens of each book with nodes. */
export async function poolSources({ settings, books }: ServerPlan, usdPrice: UsdPrice): Promise<PoolSource[]> {
  const { poolsUrl: url } = settings;
  const sources = url === undefined ? [] : [(await import('intentbook/prices')).jsonPools({ url })];
  for (const { chainId, settings: book } of books) {
    const { rpc = [], usdToken, poolTokens = [], poolFactory: factory = FACTORIES[chainId] } = book;
    const { wrappedNative = chainById(chainId)?.wrappedNative } = book;
    const tokens = [wrappedNative, usdToken?.token, ...poolTokens].filter((token) => token !== undefined);
    if (rpc.length === 0 || factory === undefined || tokens.length < 2) continue;
    const client = await createNodeClient(rpc);
    const { uniswapV2Pools } = await import('intentbook/viem');
    sources.push(uniswapV2Pools(client, { chainId, factory, tokens, usdPrice: (token) => usdPrice(chainId, token) }));
  }
  return sources;
}
