import type { Address, Hex } from 'intentbook';
import { assertKnownOptions, bytes, encodeCall, parseAddress, requireFunctions, word } from '#internal';
import { callContracts } from './call-contracts.ts';
import type { Liquidity, LiquidityState } from './liquidity.ts';
import type { Interaction, NodeClient } from './types.ts';

/** Pairs of a Uniswap V2 factory, or of a compatible one. */
export interface UniswapV2LiquidityOptions {
  /** Address of the factory of the pairs. */
  readonly factory: Address;
  /** Contract that receives the output of a swap: the settlement contract. */
  readonly receiver: Address;
  /** Tokens that a route may go through, such as wrapped native currency. */
  readonly bases: readonly Address[];
}

/** Selectors of the factory, of its pairs and of their tokens. */
const GET_PAIR: Hex = '0xe6a43905';
const GET_RESERVES: Hex = '0x0902f1ac';
const SWAP: Hex = '0x022c0d9f';
const TRANSFER: Hex = '0xa9059cbb';

/** A pair keeps its reserves in 112 bits (UniswapV2Pair.sol). */
const MAX_RESERVE = 2n ** 112n - 1n;

/** Milliseconds for which a pair that does not exist is not searched again. */
const ABSENT_TTL = 60_000;

interface PoolState {
  readonly address: Address;
  readonly tokens: readonly [Address, Address];
  reserves: [bigint, bigint];
}

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

  async function readPools(wanted: readonly (readonly [Address, Address])[], signal: AbortSignal) {
    const pairs = wanted.flatMap((tokens) => {
      const address = addresses.get(tokens.join());
      return address === undefined ? [] : [{ address, tokens }];
    });
    const calls = pairs.map(({ address }) => ({ to: address, data: GET_RESERVES }));
    const results = await callContracts(client, calls, signal);
    const pools = pairs.map(({ address, tokens }, i): [string, PoolState] => {
      const [first = 0n, second = 0n] = results[i] ?? [];
      return [tokens.join(), { address, tokens, reserves: [first, second] }];
    });
    return new Map(pools);
  }

  return {
    async read(tokens, signal, pairs) {
      const direct = pairs ?? tokens.flatMap((token, i) => tokens.slice(i + 1).map((next) => [token, next] as const));
      const routed = tokens.flatMap((token) => bases.map((base) => [token, base] as const));
      const sorted = [...direct, ...routed].map(([a, b]) => (a < b ? ([a, b] as const) : ([b, a] as const)));
      const wanted = [...new Map(sorted.map((pair) => [pair.join(), pair])).values()].filter(([a, b]) => a !== b);
      await findPairs(wanted, signal);
      return createState(await readPools(wanted, signal), bases, receiver);
    },
  };
}

function createState(
  pools: ReadonlyMap<string, PoolState>,
  bases: readonly Address[],
  receiver: Address,
): LiquidityState {
  const routes = new Map<string, Address[][]>();

  function getPool(from: Address, to: Address): PoolState | undefined {
    return pools.get(from < to ? `${from},${to}` : `${to},${from}`);
  }

  /** Paths whose pairs all exist. */
  function pathsBetween(sellToken: Address, buyToken: Address): Address[][] {
    const key = `${sellToken},${buyToken}`;
    const known = routes.get(key);
    if (known !== undefined) return known;
    const between = bases.filter((base) => base !== sellToken && base !== buyToken);
    const paths = [[sellToken, buyToken], ...between.map((base) => [sellToken, base, buyToken])];
    const found = paths.filter((path) => getHops(path).every(([from, to]) => getPool(from, to) !== undefined));
    routes.set(key, found);
    return found;
  }

  /** Amounts along a path, the input included; `undefined` if a pair has too little. */
  function amountsAlong(path: readonly Address[], amountIn: bigint): bigint[] | undefined {
    const amounts = [amountIn];
    for (const [from, to] of getHops(path)) {
      const pool = getPool(from, to);
      const sold = amounts.at(-1) ?? 0n;
      const [reserveIn, reserveOut] = pool === undefined ? [0n, 0n] : getSides(pool, from);
      const bought = reserveIn + sold > MAX_RESERVE ? 0n : amountOut(sold, reserveIn, reserveOut);
      if (bought === 0n) return undefined;
      amounts.push(bought);
    }
    return amounts;
  }

  function best(sellToken: Address, buyToken: Address, amountIn: bigint) {
    let found: { readonly path: readonly Address[]; readonly amounts: readonly bigint[] } | undefined;
    for (const path of pathsBetween(sellToken, buyToken)) {
      const amounts = amountsAlong(path, amountIn);
      if (amounts !== undefined && (amounts.at(-1) ?? 0n) > (found?.amounts.at(-1) ?? 0n)) found = { path, amounts };
    }
    return found;
  }

  return {
    quote: (sellToken, buyToken, amountIn) => best(sellToken, buyToken, amountIn)?.amounts.at(-1) ?? 0n,
    take(sellToken, buyToken, amountIn) {
      const route = best(sellToken, buyToken, amountIn);
      if (route === undefined) throw new RangeError(`liquidity from ${sellToken} to ${buyToken} is missing`);
      const hops = getHops(route.path).map(([from, to], i) => {
        const [sold = 0n, bought = 0n] = route.amounts.slice(i, i + 2);
        return { from, sold, bought, pool: getPool(from, to) as PoolState }; // the path is made of known pools
      });
      const [first] = hops;
      const calls: Interaction[] =
        first === undefined ? [] : [call(first.from, encodeCall(TRANSFER, [word(first.pool.address), word(amountIn)]))];
      for (const [i, { from, sold, bought, pool }] of hops.entries()) {
        const isFirst = pool.tokens[0] === from;
        const [reserveIn, reserveOut] = getSides(pool, from);
        pool.reserves = isFirst ? [reserveIn + sold, reserveOut - bought] : [reserveOut - bought, reserveIn + sold];
        const to = hops[i + 1]?.pool.address ?? receiver;
        const outputs = isFirst ? [0n, bought] : [bought, 0n];
        calls.push(call(pool.address, encodeCall(SWAP, [...outputs.map(word), word(to), bytes('0x')])));
      }
      return calls;
    },
  };
}

function call(target: Address, callData: Hex): Interaction {
  return { target, value: 0n, callData };
}

function getSides({ tokens, reserves: [first, second] }: PoolState, from: Address): readonly [bigint, bigint] {
  return tokens[0] === from ? [first, second] : [second, first];
}

function getHops(path: readonly Address[]): (readonly [Address, Address])[] {
  return path.slice(1).map((to, i) => [path[i] as Address, to]); // the element before
}

/**
 * Computes the output of a swap as the pair limits it, with its fee of 0.3 % (UniswapV2Library.sol, `getAmountOut`).
 */
function amountOut(sold: bigint, reserveIn: bigint, reserveOut: bigint): bigint {
  if (reserveIn === 0n || reserveOut === 0n) return 0n;
  const kept = sold * 997n;
  return (kept * reserveOut) / (reserveIn * 1000n + kept);
}
