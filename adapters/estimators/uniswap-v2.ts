import type { Address, Estimator, Hex } from 'intentbook';
import { parseHex, refuseUnknownOptions } from 'intentbook/adapter';
import type { RoutingOptions } from './constant-product.ts';
import { estimateAlong, indexPools, ROUTING_OPTIONS, readRouting, requireAddress } from './constant-product.ts';
import type { Pool } from './pool.ts';
import { UNISWAP_V2_FEE } from './pool.ts';
import { hops, pathsBetween } from './route.ts';

/** What is used of a chain's client: `eth_call`, as viem's `PublicClient` has it. */
export interface CallClient {
  call(parameters: { readonly to: Hex; readonly data: Hex }): Promise<{ readonly data?: Hex | undefined }>;
}

export interface UniswapV2Options extends RoutingOptions {
  /** The factory whose pairs are traded through. */
  readonly factory: string;
  /** What its pairs keep of what comes in, in parts per million. Default 3000. */
  readonly fee?: number;
}

/** Milliseconds for which a pair that does not exist is not asked for again. One that exists stays where it is. */
const ABSENCE = 60_000;

/**
 * A source that reads the pairs of a Uniswap V2 factory, or of one of its many likes, from a chain, and trades through them to
 * the atom as its router would. Reserves are read anew for each question.
 */
export function uniswapV2(client: CallClient, options: UniswapV2Options): Estimator {
  refuseUnknownOptions('uniswapV2', options, [...ROUTING_OPTIONS, 'factory', 'fee']);
  const routing = readRouting('uniswapV2', options);
  const factory = requireAddress('uniswapV2', options.factory);
  const { fee = UNISWAP_V2_FEE, name = 'Uniswap V2' } = options;
  const pairs = new Map<string, { readonly pair: Address | undefined; readonly at: number }>();

  async function findPair(key: string, tokens: readonly [Address, Address]): Promise<Address | undefined> {
    const known = pairs.get(key);
    if (known !== undefined && (known.pair !== undefined || performance.now() - known.at < ABSENCE)) return known.pair;
    const [word] = await read(client, factory, `${GET_PAIR}${tokens.map(asWord).join('')}`, 1);
    const pair = word === 0n || word === undefined ? undefined : addressOf(word);
    pairs.set(key, { pair, at: performance.now() });
    return pair;
  }

  async function readPool(key: string, tokens: readonly [Address, Address]): Promise<Pool[]> {
    const pair = await findPair(key, tokens);
    if (pair === undefined) return [];
    const [first = 0n, second = 0n] = await read(client, pair, GET_RESERVES, 3);
    return [{ tokens, reserves: [first, second], fee }];
  }

  return {
    name,
    async estimate(trade) {
      const wanted = new Map<string, readonly [Address, Address]>();
      for (const path of pathsBetween(trade, routing.bases, routing.maxHops)) {
        for (const [from, to] of hops(path)) {
          // A pair keeps its tokens in the order of their numbers (UniswapV2Factory.sol, `createPair`).
          const tokens = from < to ? ([from, to] as const) : ([to, from] as const);
          wanted.set(tokens.join(' '), tokens);
        }
      }
      const pools = await Promise.all([...wanted].map(([key, tokens]) => readPool(key, tokens)));
      return estimateAlong(trade, routing, indexPools(pools.flat()));
    },
  };
}

/** The selectors of `getPair(address,address)` and `getReserves()`. */
const GET_PAIR = '0xe6a43905';
const GET_RESERVES = '0x0902f1ac';

async function read(client: CallClient, to: Address, data: string, words: number): Promise<bigint[]> {
  const { data: answer } = await client.call({ to, data: data as Hex }); // a selector and whole words
  const hex = parseHex(answer ?? '0x', 32 * words);
  if (hex === undefined) throw new Error(`the contract at ${to} has not answered as one of Uniswap V2 does`);
  return Array.from({ length: words }, (_, i) => BigInt(`0x${hex.slice(2 + 64 * i, 66 + 64 * i)}`));
}

function asWord(address: Address): string {
  return address.slice(2).padStart(64, '0');
}

function addressOf(word: bigint): Address {
  return `0x${word.toString(16).padStart(40, '0').slice(-40)}`;
}
