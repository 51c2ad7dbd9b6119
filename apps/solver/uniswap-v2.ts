import type { Address, Hex } from 'intentbook';
import {
  assertKnownOptions,
  createSwapCalls,
  encodeCall,
  findBestRoutes,
  listPaths,
  type PoolSide,
  parseAddress,
  requireFunctions,
  sortTokens,
  UNISWAP_V2_FEE,
  word,
} from '#internal';
import { callContracts } from './call-contracts.ts';
import type { Liquidity, LiquidityState } from './liquidity.ts';
import type { NodeClient } from './types.ts';

/** Pairs of a Uniswap V2 factory, or of a compatible one. */
export interface UniswapV2LiquidityOptions {
  /** Address of the factory of the pairs. */
  readonly factory: Address;
  /** Contract that receives the output of a swap: the settlement contract. */
  readonly receiver: Address;
  /** Tokens that a route may go through, such as wrapped native currency. */
  readonly bases: readonly Address[];
}

/** Selectors of the factory and of its pairs. */
const GET_PAIR: Hex = '0xe6a43905';
const GET_RESERVES: Hex = '0x0902f1ac';

/** Milliseconds for which a pair that does not exist is not searched again. */
const ABSENT_TTL = 60_000;

/** Pools in both directions, by the token that is sold and the one that is bought. */
type Sides = Map<string, readonly [PoolSide]>;

const keyOf = (from: Address, to: Address) => `${from} ${to}`;

/**
 * Creates liquidity of the pairs of a Uniswap V2 factory. A route has one pair, or two with a base token in between.
 * Addresses of pairs are kept, and a pair that does not exist is searched again after a minute. Reserves are read for
 * each auction: those of the pairs that orders exchange, and of each token with each base token. A request of the node
 * has up to 128 of them.
 *
 * @throws TypeError if an option is unknown or malformed.
 */
export function uniswapV2Liquidity(client: NodeClient, options: UniswapV2LiquidityOptions): Liquidity {
  requireFunctions('uniswapV2Liquidity: client', client, ['request']);
  assertKnownOptions('uniswapV2Liquidity', options, ['factory', 'receiver', 'bases']);
  const parse = (name: string, address: string) => parseAddress('uniswapV2Liquidity', name, address);
  const [factory, receiver] = [parse('factory', options.factory), parse('receiver', options.receiver)];
  if (!Array.isArray(options.bases)) {
    throw new TypeError(`uniswapV2Liquidity: bases must be a list, got ${String(options.bases)}`);
  }
  const bases = options.bases.map((base: string) => parse('bases', base));
  const addresses = new Map<string, Address>();
  /** Times at which pairs that do not exist are searched again, by their tokens, the earliest first. */
  const absent = new Map<string, number>();

  /** Finds the pairs that are not known yet. */
  async function findPairs(wanted: readonly (readonly [Address, Address])[], signal: AbortSignal): Promise<void> {
    for (const [key, until] of absent) if (until <= performance.now()) absent.delete(key);
    const unknown = wanted.filter((tokens) => !addresses.has(tokens.join()) && !absent.has(tokens.join()));
    const calls = unknown.map((tokens) => ({ to: factory, data: encodeCall(GET_PAIR, tokens.map(word)) }));
    const results = await callContracts(client, calls, signal);
    for (const [i, tokens] of unknown.entries()) {
      const [found] = results[i] ?? [];
      if (found === 0n) absent.set(tokens.join(), performance.now() + ABSENT_TTL);
      else if (found !== undefined) addresses.set(tokens.join(), `0x${found.toString(16).padStart(40, '0')}`);
    }
  }

  async function readPools(wanted: readonly (readonly [Address, Address])[], signal: AbortSignal): Promise<Sides> {
    const pairs = wanted.flatMap((tokens) => {
      const pair = addresses.get(tokens.join());
      return pair === undefined ? [] : [{ pair, tokens }];
    });
    const calls = pairs.map(({ pair }) => ({ to: pair, data: GET_RESERVES }));
    const results = await callContracts(client, calls, signal);
    const sides: Sides = new Map();
    for (const [i, { pair, tokens }] of pairs.entries()) {
      const [first = 0n, second = 0n] = results[i] ?? [];
      setReserves(sides, tokens, [first, second], pair);
    }
    return sides;
  }

  return {
    async read(tokens, signal, pairs) {
      const direct = pairs ?? tokens.flatMap((token, i) => tokens.slice(i + 1).map((next) => [token, next] as const));
      const routed = tokens.flatMap((token) => bases.map((base) => [token, base] as const));
      const sorted = [...direct, ...routed].map(([a, b]) => sortTokens(a, b));
      const wanted = [...new Map(sorted.map((pair) => [pair.join(), pair])).values()].filter(([a, b]) => a !== b);
      await findPairs(wanted, signal);
      return createState(await readPools(wanted, signal), bases, receiver);
    },
  };
}

function setReserves(
  sides: Sides,
  [from, to]: readonly [Address, Address],
  [reserveIn, reserveOut]: readonly [bigint, bigint],
  pair: Address,
): void {
  const fee = UNISWAP_V2_FEE;
  sides.set(keyOf(from, to), [{ reserveIn, reserveOut, fee, pair }]);
  sides.set(keyOf(to, from), [{ reserveIn: reserveOut, reserveOut: reserveIn, fee, pair }]);
}

function createState(sides: Sides, bases: readonly Address[], receiver: Address): LiquidityState {
  function best(sellToken: Address, buyToken: Address, amount: bigint) {
    const paths = listPaths(sellToken, buyToken, bases, 2);
    return findBestRoutes({ kind: 'sell', amount }, paths, (from, to) => sides.get(keyOf(from, to)) ?? []).at(-1);
  }

  return {
    quote: (sellToken, buyToken, amountIn) => best(sellToken, buyToken, amountIn)?.amount ?? 0n,
    take(sellToken, buyToken, amountIn) {
      const route = best(sellToken, buyToken, amountIn);
      const calls = route && createSwapCalls(route, receiver);
      if (route === undefined || calls === undefined)
        throw new RangeError(`liquidity from ${sellToken} to ${buyToken} is missing`);
      for (const { from, to, pool, sold, bought } of route.hops) {
        const reserves = [pool.reserveIn + sold, pool.reserveOut - bought] as const;
        setReserves(sides, [from, to], reserves, pool.pair ?? receiver);
      }
      return calls.map((call) => ({ ...call, value: 0n }));
    },
  };
}
