import type { Address, Estimator, Hex } from 'intentbook';
import { assertKnownOptions, parseHex } from '#internal';
import type { RoutingOptions } from './constant-product.ts';
import {
  estimateAlong,
  indexPools,
  ROUTING_OPTIONS,
  readRouting,
  requireAddress,
  requireFee,
} from './constant-product.ts';
import type { Pool } from './pool.ts';
import { UNISWAP_V2_FEE } from './pool.ts';
import { hops, pathsBetween } from './route.ts';

/** What is used of a chain's client: `eth_call` and `eth_blockNumber`, as viem's `PublicClient` has them. */
export interface CallClient {
  call(parameters: {
    readonly to: Hex;
    readonly data: Hex;
    readonly blockNumber?: bigint;
  }): Promise<{ readonly data?: Hex | undefined }>;
  /** With it, all reserves of a question are read as of one block. */
  getBlockNumber?(options: { readonly cacheTime: number }): Promise<bigint>;
}

/** The factory whose pairs are asked, and over which tokens. */
export interface UniswapV2Options extends RoutingOptions {
  /** The factory whose pairs are traded through. */
  readonly factory: string;
  /** What its pairs keep of what comes in, in parts per million. Default 3000. */
  readonly fee?: number;
}

/** Milliseconds for which a pair that does not exist is not asked for again. One that exists stays where it is. */
const ABSENCE = 60_000;

/** How many pairs are remembered, and how many that do not exist. Those learnt of first are forgotten first. */
const CAPACITY = 10_000;

/**
 * A source that reads the pairs of a Uniswap V2 factory, or of one of its many likes, from a chain, and trades through them to
 * the atom as its router would. Reserves are read anew for each question.
 *
 * @throws TypeError when an address or the fee is malformed.
 */
export function uniswapV2(client: CallClient, options: UniswapV2Options): Estimator {
  assertKnownOptions('uniswapV2', options, [...ROUTING_OPTIONS, 'factory', 'fee']);
  const routing = readRouting('uniswapV2', options);
  const factory = requireAddress('uniswapV2', options.factory);
  const { fee = UNISWAP_V2_FEE, name = 'Uniswap V2' } = options;
  requireFee('uniswapV2', fee);
  const pairs = new Map<string, Address>();
  const absent = new Map<string, number>();

  async function findPair(key: string, tokens: readonly [Address, Address]): Promise<Address | undefined> {
    const known = pairs.get(key);
    if (known !== undefined) return known;
    const missedAt = absent.get(key);
    if (missedAt !== undefined && performance.now() - missedAt < ABSENCE) return undefined;
    const [word = 0n] = await read(client, factory, `${GET_PAIR}${tokens.map(asWord).join('')}`, 1);
    if (word === 0n) {
      remember(absent, key, performance.now());
      return undefined;
    }
    absent.delete(key);
    const pair = addressOf(word);
    remember(pairs, key, pair);
    return pair;
  }

  return {
    name,
    async estimate(trade, { signal }) {
      signal.throwIfAborted();
      const wanted = new Map<string, readonly [Address, Address]>();
      for (const path of pathsBetween(trade, routing.bases, routing.maxHops)) {
        for (const [from, to] of hops(path)) {
          // A pair keeps its tokens in the order of their numbers (UniswapV2Factory.sol, `createPair`).
          const tokens = from < to ? ([from, to] as const) : ([to, from] as const);
          wanted.set(tokens.join(' '), tokens);
        }
      }
      const found = await Promise.all(
        [...wanted].map(async ([key, tokens]) => ({ tokens, pair: await findPair(key, tokens) })),
      );
      signal.throwIfAborted();
      const blockNumber = await client.getBlockNumber?.({ cacheTime: 0 });
      signal.throwIfAborted();
      const pools = found.map(async ({ tokens, pair }): Promise<Pool[]> => {
        if (pair === undefined) return [];
        const [first = 0n, second = 0n] = await read(client, pair, GET_RESERVES, 3, blockNumber);
        return [{ tokens, reserves: [first, second], fee }];
      });
      return estimateAlong(trade, routing, indexPools((await Promise.all(pools)).flat()));
    },
  };
}

function remember<V>(known: Map<string, V>, key: string, value: V): void {
  known.delete(key);
  known.set(key, value);
  const [oldest] = known.keys();
  if (known.size > CAPACITY && oldest !== undefined) known.delete(oldest);
}

/** The selectors of `getPair(address,address)` and `getReserves()`. */
const GET_PAIR = '0xe6a43905';
const GET_RESERVES = '0x0902f1ac';

async function read(
  client: CallClient,
  to: Address,
  data: string,
  words: number,
  blockNumber?: bigint,
): Promise<bigint[]> {
  const block = blockNumber === undefined ? {} : { blockNumber };
  const { data: answer } = await client.call({ to, data: data as Hex, ...block }); // a selector and whole words
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
