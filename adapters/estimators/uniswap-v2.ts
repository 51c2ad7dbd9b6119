import type { Address, Estimator, Hex } from 'intentbook';
import { assertKnownOptions, getHops, listPaths, parseAddress, parseHex, sortTokens, UNISWAP_V2_FEE } from '#internal';
import type { Pool, RoutingOptions } from './constant-product.ts';
import { assertFee, estimateAlong, indexPools, parseRouting, ROUTING_OPTIONS } from './constant-product.ts';

/**
 * The part of a chain client that the estimator uses: `eth_call` and `eth_blockNumber`, as in viem's `PublicClient`.
 */
export interface CallClient {
  call(parameters: {
    readonly to: Hex;
    readonly data: Hex;
    readonly blockNumber?: bigint;
  }): Promise<{ readonly data?: Hex | undefined }>;
  /** If present, all reserves of an estimate are read from one block. */
  getBlockNumber?(options: { readonly cacheTime: number }): Promise<bigint>;
}

/** Options of the Uniswap V2 estimator. */
export interface UniswapV2Options extends RoutingOptions {
  /** Address of the factory of the pairs. */
  readonly factory: string;
  /** Fee of the pairs on the incoming amount, in parts per million. Default: 3000. */
  readonly fee?: number;
}

/** Time for which a missing pair is cached, in milliseconds. An existing pair is cached until a read of it fails. */
const ABSENCE_TTL = 60_000;

/** Maximum number of cached pairs, and of cached missing pairs. The oldest entries are evicted first. */
const CACHE_SIZE = 10_000;

/**
 * Creates an estimator that reads the pairs of a Uniswap V2 factory, or of a compatible one, from a chain. Amounts
 * equal those of its router to the atom. Reserves are read for each estimate.
 *
 * @throws TypeError if an address or the fee is malformed.
 */
export function uniswapV2(client: CallClient, options: UniswapV2Options): Estimator {
  assertKnownOptions('uniswapV2', options, [...ROUTING_OPTIONS, 'factory', 'fee']);
  const routing = parseRouting('uniswapV2', options);
  const factory = parseAddress('uniswapV2', 'factory', options.factory);
  const { fee = UNISWAP_V2_FEE, name = 'Uniswap V2' } = options;
  assertFee('uniswapV2', fee);
  const pairs = new Map<string, Address>();
  const absent = new Map<string, number>();

  async function findPair(key: string, tokens: readonly [Address, Address]): Promise<Address | undefined> {
    const cached = pairs.get(key);
    if (cached !== undefined) return cached;
    const checkedAt = absent.get(key);
    if (checkedAt !== undefined && performance.now() - checkedAt < ABSENCE_TTL) return undefined;
    const [word = 0n] = await callContract(client, factory, `${GET_PAIR}${tokens.map(encodeAddress).join('')}`, 1);
    if (word === 0n) {
      setCached(absent, key, performance.now());
      return undefined;
    }
    absent.delete(key);
    const pair = toAddress(word);
    setCached(pairs, key, pair);
    return pair;
  }

  return {
    name,
    async estimate(trade, { signal, settlementContract }) {
      signal.throwIfAborted();
      const candidates = new Map<string, readonly [Address, Address]>();
      for (const path of listPaths(trade.sellToken, trade.buyToken, routing.bases, routing.maxHops)) {
        for (const [from, to] of getHops(path)) {
          const tokens = sortTokens(from, to);
          candidates.set(tokens.join(' '), tokens);
        }
      }
      const resolved = await Promise.all(
        [...candidates].map(async ([key, tokens]) => ({ key, tokens, pair: await findPair(key, tokens) })),
      );
      signal.throwIfAborted();
      const blockNumber = await client.getBlockNumber?.({ cacheTime: 0 });
      signal.throwIfAborted();
      const pools = resolved.map(async ({ key, tokens, pair }): Promise<Pool[]> => {
        if (pair === undefined) return [];
        try {
          const [first = 0n, second = 0n] = await callContract(client, pair, GET_RESERVES, 3, blockNumber);
          return [{ tokens, reserves: [first, second], fee, pair }];
        } catch (error) {
          pairs.delete(key); // a reorganisation may have removed the pair
          throw error;
        }
      });
      const poolsBetween = indexPools('uniswapV2', (await Promise.all(pools)).flat());
      return estimateAlong(trade, routing, poolsBetween, settlementContract);
    },
  };
}

function setCached<V>(cache: Map<string, V>, key: string, value: V): void {
  cache.delete(key);
  cache.set(key, value);
  const [oldest] = cache.keys();
  if (cache.size > CACHE_SIZE && oldest !== undefined) cache.delete(oldest);
}

/** Selectors of `getPair(address,address)` and `getReserves()`. */
const GET_PAIR = '0xe6a43905';
const GET_RESERVES = '0x0902f1ac';

async function callContract(
  client: CallClient,
  to: Address,
  data: string,
  words: number,
  blockNumber?: bigint,
): Promise<bigint[]> {
  const block = blockNumber === undefined ? {} : { blockNumber };
  const { data: result } = await client.call({ to, data: data as Hex, ...block }); // a selector and whole words
  const hex = parseHex(result ?? '0x', 32 * words);
  if (hex === undefined) throw new Error(`the contract at ${to} did not return ${words} words as Uniswap V2 does`);
  return Array.from({ length: words }, (_, i) => BigInt(`0x${hex.slice(2 + 64 * i, 66 + 64 * i)}`));
}

function encodeAddress(address: Address): string {
  return address.slice(2).padStart(64, '0');
}

function toAddress(word: bigint): Address {
  return `0x${word.toString(16).padStart(40, '0').slice(-40)}`;
}
