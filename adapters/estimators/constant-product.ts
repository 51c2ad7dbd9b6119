import type { Address, Estimate, Estimator, Hex, InteractionData, Trade } from 'intentbook';
import { assertKnownOptions, bytes, encodeCall, parseAddress, requireInteger, word } from '#internal';
import { MAX_RESERVE, type Pool, UNISWAP_V2_FEE } from './pool.ts';
import { findBestRoutes, listPaths, type PoolSide, type PoolsBetween, type TradeRoute } from './route.ts';

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

export interface Routing {
  readonly bases: readonly Address[];
  readonly maxHops: number;
  readonly gasBase: number;
  readonly gasPerHop: number;
}

export function parseRouting(where: string, options: RoutingOptions): Routing {
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
  const routes = findBestRoutes(trade, listPaths(trade, routing.bases, routing.maxHops), poolsBetween);
  return routes.map((route) => {
    const interactions = contract === undefined ? undefined : createSwapCalls(route, contract);
    return {
      amount: route.amount,
      gas: routing.gasBase + routing.gasPerHop * (route.path.length - 1),
      metadata: { path: route.path },
      ...(interactions === undefined ? {} : { interactions }),
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

/** Selectors of `transfer(address,uint256)` and of `swap(uint256,uint256,address,bytes)` (UniswapV2Pair.sol). */
const TRANSFER: Hex = '0xa9059cbb';
const SWAP: Hex = '0x022c0d9f';

/**
 * Returns the calls with which a contract trades along a route: a transfer to the first pair, then a swap of each pair,
 * which pays to the next pair and at last to the contract.
 *
 * @returns `undefined` if the address of a pair is unknown.
 */
function createSwapCalls({ path, hops }: TradeRoute, contract: Address): InteractionData[] | undefined {
  const pairs = hops.flatMap(({ pool: { pair } }) => pair ?? []);
  const [first, token] = [pairs[0], path[0]];
  if (pairs.length !== hops.length || first === undefined || token === undefined) return undefined;
  const calls = [toCall(token, encodeCall(TRANSFER, [word(first), word(hops[0]?.sold ?? 0n)]))];
  for (const [i, { bought }] of hops.entries()) {
    const [from, to] = path.slice(i, i + 2);
    // A pair sorts its tokens by address (UniswapV2Factory.sol, `createPair`).
    const amounts = (from ?? '') < (to ?? '') ? [0n, bought] : [bought, 0n];
    const data = encodeCall(SWAP, [...amounts.map(word), word(pairs[i + 1] ?? contract), bytes('0x')]);
    calls.push(toCall(pairs[i] ?? contract, data));
  }
  return calls;
}

function toCall(target: Address, callData: Hex): InteractionData {
  return { target, value: '0', callData };
}
