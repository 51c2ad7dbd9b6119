import type { Address, Estimate, Estimator, Trade } from 'intentbook';
import {
  assertKnownOptions,
  createSwapCalls,
  findBestRoutes,
  listPaths,
  MAX_RESERVE,
  type PoolSide,
  type PoolsBetween,
  parseAddress,
  requireInteger,
  UNISWAP_V2_FEE,
} from '#internal';

/** Pool of two tokens with a constant product of the reserves. */
export interface Pool {
  /** Two different addresses, in any order and letter case. */
  readonly tokens: readonly [string, string];
  /** Reserves in atoms, in the order of `tokens`. */
  readonly reserves: readonly [bigint, bigint];
  /** Fee on the incoming amount, in parts per million. Default: 3000, as in Uniswap V2. */
  readonly fee?: number;
  /** Address of the pool, if it is a pair of Uniswap V2. Estimates then contain the calls of their route. */
  readonly pair?: string;
}

/** Options of routing through pools. */
export interface RoutingOptions {
  /** Intermediate tokens of a route. Default: none, only direct trades. */
  readonly bases?: readonly string[];
  /** Maximum number of pools of a route, 1 to 4. Default: 3. */
  readonly maxHops?: number;
  /** Gas units of a settlement without its trades. Default: 106391. */
  readonly gasBase?: number;
  /** Gas units of each pool. Default: 90000. */
  readonly gasPerHop?: number;
  /** Name in observations. */
  readonly name?: string;
}

/** Options of the constant-product estimator. */
export interface ConstantProductOptions extends RoutingOptions {}

export const ROUTING_OPTIONS = ['bases', 'maxHops', 'gasBase', 'gasPerHop', 'name'];

/**
 * Creates an estimator that trades through constant-product pools. Amounts are computed in integers and equal those of
 * the pools to the atom.
 *
 * @param pools - The pools, or a function that returns their current state for each trade.
 * @throws TypeError if an address, a reserve or a fee is malformed.
 */
export function constantProduct(
  pools: readonly Pool[] | (() => Promise<readonly Pool[]> | readonly Pool[]),
  options: ConstantProductOptions = {},
): Estimator {
  assertKnownOptions('constantProduct', options, ROUTING_OPTIONS);
  const routing = parseRouting('constantProduct', options);
  const { name = 'constant product' } = options;
  const fixed = typeof pools === 'function' ? undefined : indexPools('constantProduct', pools);
  return {
    name,
    async estimate(trade, { settlementContract }) {
      const poolsBetween = fixed ?? indexPools('constantProduct', typeof pools === 'function' ? await pools() : pools);
      return estimateAlong(trade, routing, poolsBetween, settlementContract);
    },
  };
}

type Routing = ReturnType<typeof parseRouting>;

export function parseRouting(where: string, options: RoutingOptions) {
  const { maxHops = 3, gasBase = 106_391, gasPerHop = 90_000 } = options;
  requireInteger(`${where}: maxHops`, maxHops, 1, 4);
  for (const gas of [gasBase, gasPerHop]) {
    requireInteger(`${where}: gas`, gas, 0);
  }
  if (gasBase + gasPerHop === 0) throw new TypeError(`${where}: gasBase and gasPerHop must not both be 0`);
  const bases = [...new Set(options.bases?.map((base) => parseAddress(where, 'bases', base)))];
  return { bases, maxHops, gasBase, gasPerHop };
}

/**
 * Estimates a trade over the best routes. Returns an empty list if there is no route.
 *
 * @param contract - The contract that makes the calls of a route. Default: estimates contain no calls.
 */
export function estimateAlong(
  trade: Trade,
  routing: Routing,
  poolsBetween: PoolsBetween,
  contract?: Address,
): Estimate[] {
  const paths = listPaths(trade.sellToken, trade.buyToken, routing.bases, routing.maxHops);
  return findBestRoutes(trade, paths, poolsBetween).map((route) => {
    const calls = contract === undefined ? undefined : createSwapCalls(route, contract);
    return {
      amount: route.amount,
      gas: routing.gasBase + routing.gasPerHop * (route.path.length - 1),
      metadata: { path: route.path },
      ...(calls === undefined ? {} : { interactions: calls.map((call) => ({ ...call, value: '0' })) }),
    };
  });
}

const isPoolList = (value: unknown): boolean =>
  Array.isArray(value) && value.every((pool) => Array.isArray(pool?.tokens) && Array.isArray(pool.reserves));

/**
 * Indexes pools by their pairs of tokens, in both directions.
 *
 * @param where - The function that was called, for errors.
 */
export function indexPools(where: string, pools: readonly Pool[]): PoolsBetween {
  if (!isPoolList(pools)) throw new TypeError(`${where}: pools must be a list of { tokens, reserves }`);
  const sides = new Map<string, PoolSide[]>();
  const add = (from: Address, to: Address, side: PoolSide) => {
    const key = `${from} ${to}`;
    const existing = sides.get(key);
    if (existing === undefined) sides.set(key, [side]);
    else existing.push(side);
  };
  for (const { tokens, reserves, fee = UNISWAP_V2_FEE, pair: address } of pools) {
    const pair = address === undefined ? {} : { pair: parseAddress(where, 'pair', address) };
    const [a, b] = tokens.map((token) => parseAddress(where, 'tokens', token));
    const [reserveA, reserveB] = reserves;
    if (a === undefined || b === undefined || a === b) {
      throw new TypeError(`${where}: the tokens of a pool must be two different addresses`);
    }
    for (const reserve of reserves) {
      if (typeof reserve !== 'bigint' || reserve < 0n || reserve > MAX_RESERVE) {
        throw new TypeError(`${where}: a reserve must be a bigint from 0 to 2^112 - 1, got ${reserve}`);
      }
    }
    assertFee(where, fee);
    add(a, b, { reserveIn: reserveA, reserveOut: reserveB, fee, ...pair });
    add(b, a, { reserveIn: reserveB, reserveOut: reserveA, fee, ...pair });
  }
  return (sold, bought) => sides.get(`${sold} ${bought}`) ?? [];
}

export function assertFee(where: string, fee: number): void {
  if (Number.isInteger(fee) && fee >= 0 && fee < 1_000_000) return;
  throw new TypeError(`${where}: fee must be an integer from 0 to 999999 parts per million, got ${fee}`);
}
