import type { Address, PublicClient } from 'viem';
import { parseAbi } from 'viem';
import type { WireOrder } from './interface.ts';
import type { Reserves, Route } from './pools.ts';
import { unwrap } from './pools.ts';
import type { Execution } from './settlement.ts';

const ERC20 = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function allowance(address, address) view returns (uint256)',
]);
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';

/** Contracts of the chain. */
export interface Contracts {
  readonly settlement: Address;
  readonly vaultRelayer: Address;
  readonly wrappedNative: Address;
}

function minimum(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}

/** Atoms of the fixed token that are left, and that the owner of a partially fillable order can pay. */
export async function readFillable(
  client: PublicClient,
  order: WireOrder,
  { vaultRelayer }: Contracts,
): Promise<bigint> {
  const total = BigInt(order.kind === 'sell' ? order.sellAmount : order.buyAmount);
  const left = total - BigInt(order.executed);
  if (!order.partiallyFillable || order.preInteractions.length > 0) return left;
  const token = { address: order.sellToken, abi: ERC20 } as const;
  const [balance, allowance] = await Promise.all([
    client.readContract({ ...token, functionName: 'balanceOf', args: [order.owner] }),
    client.readContract({ ...token, functionName: 'allowance', args: [order.owner, vaultRelayer] }),
  ]);
  const funds = minimum(balance, allowance);
  const affordable = order.kind === 'sell' ? funds : (funds * BigInt(order.buyAmount)) / BigInt(order.sellAmount);
  return minimum(affordable, left);
}

const MILLION = 1_000_000n;

/** Returns the fee of an order in parts per million. `undefined`: the driver does not know its policies. */
export function getFee({ protocolFees }: WireOrder): bigint | undefined {
  const [policy, ...others] = protocolFees;
  if (policy === undefined) return 0n;
  if (policy.volume === undefined || others.length > 0) return undefined;
  return BigInt(Math.round(policy.volume.factor * 1_000_000));
}

/** Amounts of an execution, after its fee. */
interface Amounts {
  readonly sold: bigint;
  readonly bought: bigint;
  /** Atoms that enter the route. Those of a fee stay in the settlement contract. */
  readonly swapped: bigint;
}

/** The amounts of an order for some atoms of its fixed token, within its limit price. */
function quote(order: WireOrder, fixed: bigint, route: Route, reserves: Reserves): Amounts | undefined {
  if (fixed <= 0n) return undefined;
  const fee = getFee(order) ?? 0n;
  let amounts: Amounts;
  if (order.kind === 'sell') {
    const bought = (reserves.amountOut(route, fixed) * (MILLION - fee)) / MILLION;
    amounts = { sold: fixed, bought, swapped: fixed };
  } else {
    const swapped = reserves.amountIn(route, fixed);
    if (swapped === undefined) return undefined;
    amounts = { sold: (swapped * (MILLION + fee) + MILLION - 1n) / MILLION, bought: fixed, swapped };
  }
  const { sold, bought } = amounts;
  const isWithinLimit = bought > 0n && sold * BigInt(order.buyAmount) <= bought * BigInt(order.sellAmount);
  return isWithinLimit ? amounts : undefined;
}

/** Finds the largest execution on a route. The price of a route falls with the amount. */
function largest(order: WireOrder, fillable: bigint, route: Route, reserves: Reserves): Amounts | undefined {
  const whole = quote(order, fillable, route, reserves);
  if (whole !== undefined || !order.partiallyFillable) return whole;
  let [low, high] = [0n, fillable];
  for (let step = 0; step < 24; step++) {
    const middle = (low + high) / 2n;
    if (quote(order, middle, route, reserves) === undefined) high = middle;
    else low = middle;
  }
  return quote(order, low, route, reserves);
}

/** Executes an order on its best route and changes the reserves. */
export async function execute(
  order: WireOrder,
  fillable: bigint,
  reserves: Reserves,
  { settlement, wrappedNative }: Contracts,
): Promise<Execution | undefined> {
  const buyToken = order.buyToken === NATIVE ? wrappedNative : order.buyToken;
  let best: (Amounts & { readonly route: Route }) | undefined;
  for (const route of await reserves.routes(order.sellToken, buyToken)) {
    const amounts = largest(order, fillable, route, reserves);
    if (amounts === undefined) continue;
    const isBetter = best === undefined || amounts.bought * best.sold > best.bought * amounts.sold;
    if (isBetter) best = { ...amounts, route };
  }
  if (best === undefined) return undefined;
  const { sold, bought, swapped, route } = best;
  // The route may pay an atom more than a purchase needs.
  const calls = reserves.take(route, swapped, settlement);
  return {
    order,
    sold,
    bought,
    calls: order.buyToken === NATIVE ? [...calls, unwrap(wrappedNative, bought)] : calls,
  };
}
