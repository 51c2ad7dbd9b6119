import type { Address, Estimate, Estimator, Trade } from 'intentbook';
import { assertKnownOptions, parseHex } from '#internal';
import type { Pool } from './pool.ts';
import { MAX_RESERVE, UNISWAP_V2_FEE } from './pool.ts';
import type { PoolsBetween, Side } from './route.ts';
import { bestRoutes, pathsBetween } from './route.ts';

/** How ways through pools are looked for. */
export interface RoutingOptions {
  /** Tokens that a trade may pass through. Default: none, only direct trades. */
  readonly bases?: readonly string[];
  /** Pools that a trade may pass through at most, 1 to 4. Default 3. */
  readonly maxHops?: number;
  /** Units of gas that a settlement takes besides its trades. Default 106391. */
  readonly gasBase?: number;
  /** Units of gas that each pool takes. Default 90000. */
  readonly gasPerHop?: number;
  /** For observations. */
  readonly name?: string;
}

/** How far is looked for a way through pools. */
export interface ConstantProductOptions extends RoutingOptions {}

export const ROUTING_OPTIONS = ['bases', 'maxHops', 'gasBase', 'gasPerHop', 'name'];

/**
 * A source that trades through pools of a constant product, in exact integers, to the atom as the pools themselves
 * would.
 *
 * @param pools the pools, or a function that answers them as they are when a trade is asked about.
 * @throws TypeError when an address, a reserve or a fee is malformed.
 */
export function constantProduct(
  pools: readonly Pool[] | (() => Promise<readonly Pool[]> | readonly Pool[]),
  options: ConstantProductOptions = {},
): Estimator {
  assertKnownOptions('constantProduct', options, ROUTING_OPTIONS);
  const routing = readRouting('constantProduct', options);
  const { name = 'constant product' } = options;
  const fixed = typeof pools === 'function' ? undefined : indexPools(pools);
  return {
    name,
    async estimate(trade) {
      const poolsBetween = fixed ?? indexPools(typeof pools === 'function' ? await pools() : pools);
      return estimateAlong(trade, routing, poolsBetween);
    },
  };
}

export interface Routing {
  readonly bases: readonly Address[];
  readonly maxHops: number;
  readonly gasBase: number;
  readonly gasPerHop: number;
}

export function readRouting(where: string, options: RoutingOptions): Routing {
  const { maxHops = 3, gasBase = 106_391, gasPerHop = 90_000 } = options;
  if (!Number.isInteger(maxHops) || maxHops < 1 || maxHops > 4) throw new TypeError(`${where}: maxHops must be 1 to 4`);
  for (const gas of [gasBase, gasPerHop]) {
    if (!Number.isSafeInteger(gas) || gas < 0) throw new TypeError(`${where}: gas must be a whole number`);
  }
  if (gasBase + gasPerHop === 0) throw new TypeError(`${where}: a trade must take gas`);
  const bases = [...new Set(options.bases?.map((base) => requireAddress(where, base)))];
  return { bases, maxHops, gasBase, gasPerHop };
}

/** Estimates a trade over the best ways; none when there is no way. */
export function estimateAlong(trade: Trade, routing: Routing, poolsBetween: PoolsBetween): Estimate[] {
  const routes = bestRoutes(trade, pathsBetween(trade, routing.bases, routing.maxHops), poolsBetween);
  return routes.map(({ path, amount }) => ({
    amount,
    gas: routing.gasBase + routing.gasPerHop * (path.length - 1),
    metadata: { path },
  }));
}

/** Makes pools findable from each of their tokens. */
export function indexPools(pools: readonly Pool[]): PoolsBetween {
  const sides = new Map<string, Side[]>();
  const add = (from: Address, to: Address, side: Side) => {
    const key = `${from} ${to}`;
    const known = sides.get(key);
    if (known === undefined) sides.set(key, [side]);
    else known.push(side);
  };
  for (const { tokens, reserves, fee = UNISWAP_V2_FEE } of pools) {
    const [a, b] = tokens.map((token) => requireAddress('constantProduct', token));
    const [reserveA, reserveB] = reserves;
    if (a === undefined || b === undefined || a === b) throw new TypeError('constantProduct: a pool has two tokens');
    for (const reserve of reserves) {
      if (typeof reserve !== 'bigint' || reserve < 0n || reserve > MAX_RESERVE) {
        throw new TypeError('constantProduct: reserves are bigints from 0 to 2^112 - 1');
      }
    }
    requireFee('constantProduct', fee);
    add(a, b, { reserveIn: reserveA, reserveOut: reserveB, fee });
    add(b, a, { reserveIn: reserveB, reserveOut: reserveA, fee });
  }
  return (sold, bought) => sides.get(`${sold} ${bought}`) ?? [];
}

export function requireFee(where: string, fee: number): void {
  if (Number.isInteger(fee) && fee >= 0 && fee < 1_000_000) return;
  throw new TypeError(`${where}: a fee is a whole number of parts per million, from 0 to 999999, not "${fee}"`);
}

export function requireAddress(where: string, text: string): Address {
  const address = parseHex(text, 20);
  if (address === undefined) throw new TypeError(`${where}: "${text}" must be 0x and 40 hex digits`);
  return address;
}
