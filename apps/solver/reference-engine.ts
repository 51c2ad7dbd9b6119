import type { Address, AuctionOrder, Hex } from 'intentbook';
import { assertKnownOptions, encodeCall, parseAddress, requireFunction, requireFunctions, word } from '#internal';
import { callContracts } from './call-contracts.ts';
import { type ClearedPair, clearPair } from './clear.ts';
import { getExecution, getRemaining, NATIVE, respectsLimit } from './execution.ts';
import type { Liquidity, LiquidityState } from './liquidity.ts';
import type { Fill, NodeClient, Solution, SolvableAuction, SolverEngine } from './types.ts';

/** Settings of the reference engine. */
export interface ReferenceEngineOptions {
  /** Source of liquidity, such as `uniswapV2Liquidity`. */
  readonly liquidity: Liquidity;
  /** Wrapped native currency, which orders for native currency are settled with. */
  readonly wrappedNative: Address;
  /**
   * Returns the atoms of the sell token that the owner of each partially fillable order can pay, in the order of the
   * orders: `fundsReader(…)`. 0: the order is left out, as one whose token reverts. Default: such orders are filled as
   * if funded.
   */
  readonly getFunds?: (orders: readonly AuctionOrder[], signal: AbortSignal) => Promise<readonly bigint[]>;
  /**
   * Atoms per order that the settlement contract may lose to rounding. Above 0, the contract must hold some of each
   * token. Default: 0.
   */
  readonly buffer?: bigint;
}

const BALANCE_OF: Hex = '0x70a08231';
const ALLOWANCE: Hex = '0xdd62ed3e';
const WITHDRAW: Hex = '0x2e1a7d4d';

/**
 * Creates the reference engine. It clears each pair of tokens at one price: opposite orders are matched directly,
 * and the rest is traded with the liquidity. Orders of equal tokens, or of wrapped for native currency, need neither.
 *
 * @throws TypeError if an option is unknown or malformed.
 */
export function createReferenceEngine(options: ReferenceEngineOptions): SolverEngine {
  assertKnownOptions('createReferenceEngine', options, ['liquidity', 'wrappedNative', 'getFunds', 'buffer']);
  const { liquidity, getFunds, buffer = 0n } = options;
  requireFunctions('createReferenceEngine: liquidity', liquidity, ['read']);
  if (getFunds !== undefined) requireFunction('createReferenceEngine: getFunds', getFunds);
  const wrappedNative = parseAddress('createReferenceEngine', 'wrappedNative', options.wrappedNative);
  if (typeof buffer !== 'bigint' || buffer < 0n) {
    throw new TypeError(`createReferenceEngine: buffer must be a bigint from 0 up, got ${buffer}`);
  }
  const wrapped = (token: Address) => (token === NATIVE ? wrappedNative : token);

  /** Creates the largest fill of each order that its owner can pay; hooks and contracts may provide the funds later. */
  async function createFills(orders: readonly AuctionOrder[], signal: AbortSignal): Promise<readonly Fill[]> {
    const open = orders
      .filter((order) => order.sellTokenBalance === 'erc20' && order.buyTokenBalance === 'erc20')
      .map((order): Fill => ({ order, executed: getRemaining(order) }));
    const isLimited = ({ order }: Fill) => order.partiallyFillable && order.preInteractions.length === 0;
    const limited = getFunds === undefined ? [] : open.filter(isLimited);
    const limitedOrders = limited.map(({ order }) => order);
    const funds = limitedOrders.length > 0 ? await getFunds?.(limitedOrders, signal) : undefined;
    const fundsOf = new Map(limited.map(({ order }, i) => [order.uid, funds?.[i] ?? 0n]));
    return open.map((fill) => reduceTo(fill, fundsOf.get(fill.order.uid))).filter(({ executed }) => executed > 0n);
  }

  /** Settles a purchase of native currency with the wrapped token, which is unwrapped before the transfers out. */
  function toSolution(
    { prices, fills, swap }: ClearedPair,
    orders: readonly AuctionOrder[],
    state: LiquidityState,
  ): Solution {
    const originals = new Map(orders.map((order) => [order.uid, order]));
    const settled = fills.map((fill) => ({ ...fill, order: originals.get(fill.order.uid) ?? fill.order }));
    const native = settled.filter(({ order }) => order.buyToken === NATIVE);
    const all = native.length === 0 ? prices : { ...prices, [NATIVE]: prices[wrappedNative] ?? 0n };
    const interactions = swap === undefined ? [] : state.take(swap.sellToken, swap.buyToken, swap.amountIn);
    if (native.length === 0) return { prices: all, fills: settled, interactions };
    const amount = native.reduce((sum, fill) => sum + getExecution(fill, all).bought, 0n);
    const unwrap = { target: wrappedNative, value: 0n, callData: encodeCall(WITHDRAW, [word(amount)]) };
    return { prices: all, fills: settled, interactions: [...interactions, unwrap] };
  }

  return {
    name: 'reference engine',
    async solve({ orders }: SolvableAuction, signal) {
      const fills = await createFills(orders, signal);
      const pairs = groupByPair(
        fills.map((fill) => ({ ...fill, order: { ...fill.order, buyToken: wrapped(fill.order.buyToken) } })),
      );
      const exchanged = [...pairs.keys()].map((key) => key.split(' ') as [Address, Address]); // as the key is made
      const state = await liquidity.read([...new Set(exchanged.flat())], signal, exchanged);
      const solutions: Solution[] = [];
      for (const [key, group] of pairs) {
        const [base, other] = key.split(' ') as [Address, Address]; // as the key is made
        const cleared =
          base === other ? clearEqual(base, group) : await clearPair({ base, other }, group, state, buffer, signal);
        if (cleared !== undefined) solutions.push(toSolution(cleared, orders, state));
      }
      return solutions;
    },
  };
}

/** Clears orders of equal tokens, or of wrapped for native currency: each is paid what it sells. */
function clearEqual(token: Address, group: readonly Fill[]): ClearedPair | undefined {
  const prices = { [token]: 1n };
  const fills = group.filter((fill) => respectsLimit(fill, prices));
  return fills.length === 0 ? undefined : { prices, fills, swap: undefined };
}

/** Reduces a fill to what the owner can pay. `undefined`: any amount. A purchase pays at most its limit price. */
function reduceTo({ order, executed }: Fill, funds: bigint | undefined): Fill {
  if (funds === undefined) return { order, executed };
  const affordable = order.kind === 'sell' ? funds : (funds * BigInt(order.buyAmount)) / BigInt(order.sellAmount);
  return { order, executed: smaller(affordable, executed) };
}

/**
 * Creates a function that reads the balances and allowances of the owners of orders from a node, in few requests. Of a
 * token that reverts, an owner has 0.
 *
 * @throws TypeError if an argument is malformed.
 */
export function fundsReader(
  client: NodeClient,
  vaultRelayer: Address,
): (orders: readonly AuctionOrder[], signal: AbortSignal) => Promise<readonly bigint[]> {
  requireFunctions('fundsReader: client', client, ['request']);
  const spender = parseAddress('fundsReader', 'vaultRelayer', vaultRelayer);
  return async (orders, signal) => {
    const calls = orders.flatMap(({ owner, sellToken: to }) => [
      { to, data: encodeCall(BALANCE_OF, [word(owner)]) },
      { to, data: encodeCall(ALLOWANCE, [word(owner), word(spender)]) },
    ]);
    const results = await callContracts(client, calls, signal);
    const read = (index: number) => results[index]?.[0] ?? 0n;
    return orders.map((_, i) => smaller(read(2 * i), read(2 * i + 1)));
  };
}

const smaller = (a: bigint, b: bigint) => [a, b].reduce((least, each) => (each < least ? each : least));

function groupByPair(fills: readonly Fill[]): ReadonlyMap<string, readonly Fill[]> {
  const pairs = new Map<string, Fill[]>();
  for (const fill of fills) {
    const { sellToken, buyToken } = fill.order;
    const key = [sellToken, buyToken].sort().join(' ');
    const group = pairs.get(key);
    if (group === undefined) pairs.set(key, [fill]);
    else group.push(fill);
  }
  return pairs;
}
