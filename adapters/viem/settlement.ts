import type { Address, Hex, InteractionData, Interactions, JitOrder, OrderData, SigningScheme } from 'intentbook';
import { encodeCall, encodeSettle, word } from '#internal';
import { callRpc, parseHexResult, parseQuantity, type RpcClient, record, toQuantity } from './rpc.ts';
import { simulateV1 } from './simulation.ts';

/** The account that settles in a simulation. Its key is unknown. */
export const SOLVER: Address = '0x00000000000000000000000000000000c0ffee02';

/** Gas limit of the settlement, and of each other call. */
export const SETTLE_GAS = 20_000_000;
const CALL_GAS = 2_000_000;

/** Gas limit of a simulated block. That of the chain may be lower than the gas limit of the settlement. */
const BLOCK_GAS = 40_000_000;

const SELECTORS = {
  authenticator: '0x2335c76b',
  manager: '0x481c6a75',
  addSolver: '0xec58f4b8',
} as const satisfies Record<string, Hex>;

/** Call of a simulated block. */
export interface BlockCall {
  readonly from: Address;
  readonly to: Address;
  readonly input: Hex;
  readonly gas: string;
}

/** Result of a call of a simulated block. */
export interface BlockCallResult {
  readonly success: boolean;
  readonly data: Hex;
  readonly gas: number;
  /** Data or message of a failed call. */
  readonly error: string | undefined;
}

/** Returns a call with the usual gas limit. */
export function createCall(from: Address, to: Address, input: Hex, gas = CALL_GAS): BlockCall {
  return { from, to, input, gas: toQuantity(gas) };
}

/**
 * Returns the call that allows a solver to settle (default: `SOLVER`), from the manager of the settlement contract's
 * allow list.
 */
export type CreateAuthorization = (
  settlement: Address,
  signal: AbortSignal,
  options?: { readonly block?: string; readonly solver?: Address },
) => Promise<BlockCall>;

/**
 * Creates authorizations. The allow list of a settlement contract is read once, since it cannot change
 * (GPv2Settlement.sol). Its manager can change, and is read each time.
 */
export function createAuthorizations(client: RpcClient): CreateAuthorization {
  const authenticators = new Map<Address, Address>();

  async function readAddress(to: Address, data: Hex, block: string, signal: AbortSignal): Promise<Address> {
    const result = parseHexResult(await callRpc(client, signal, 'eth_call', [{ to, data }, block]), 32);
    return `0x${result.slice(26)}`;
  }

  return async (settlement, signal, { block = 'latest', solver = SOLVER } = {}) => {
    const known = authenticators.get(settlement);
    const authenticator = known ?? (await readAddress(settlement, SELECTORS.authenticator, block, signal));
    authenticators.set(settlement, authenticator);
    const manager = await readAddress(authenticator, SELECTORS.manager, block, signal);
    return createCall(manager, authenticator, encodeCall(SELECTORS.addSolver, [word(solver)]));
  };
}

/** Simulates calls in one block after `block`. Each call sees the effects of the earlier ones. */
export async function simulateBlock(
  client: RpcClient,
  calls: readonly BlockCall[],
  stateOverrides: object | undefined,
  signal: AbortSignal,
  block = 'latest',
): Promise<readonly BlockCallResult[]> {
  const blockOverrides = { gasLimit: toQuantity(BLOCK_GAS) };
  const results = await simulateV1(client, { blockOverrides, calls, stateOverrides }, signal, block);
  return results.map(({ status, returnData, gasUsed, error }) => {
    const { data: reverted, message } = record(error ?? {});
    const data = parseHexResult(returnData ?? '0x');
    const failure = typeof reverted === 'string' && reverted !== '0x' ? reverted : data === '0x' ? message : data;
    return {
      success: status === '0x1',
      data,
      gas: parseQuantity(gasUsed),
      error: typeof failure === 'string' ? failure : undefined,
    };
  });
}

/** A settlement of one order. */
export interface SingleSettlement {
  readonly order: OrderData;
  readonly owner: Address;
  readonly signingScheme: SigningScheme;
  readonly signature: Hex;
  /** In atoms of the token with the fixed amount. */
  readonly executed: bigint;
  readonly interactions: readonly InteractionData[];
  readonly hooks: Interactions;
  /** Orders of the solver that are settled as well, at their limit prices. Default: none. */
  readonly jitOrders?: readonly JitOrder[];
}

/** Encodes a settlement of one order at its limit price. */
export function encodeSingleSettlement({ interactions, hooks, jitOrders = [], ...signed }: SingleSettlement): Hex {
  const { sellToken, buyToken, sellAmount, buyAmount } = signed.order;
  // Each order has its own pair of prices, so that it is filled at its limit.
  return encodeSettle(
    [sellToken, buyToken, ...jitOrders.flatMap((order) => [order.sellToken, order.buyToken])],
    [buyAmount, sellAmount, ...jitOrders.flatMap((order) => [BigInt(order.buyAmount), BigInt(order.sellAmount)])],
    [{ ...signed, sellIndex: 0, buyIndex: 1 }, ...jitOrders.map((order, i) => toTrade(order, 2 + 2 * i))],
    [hooks.pre, interactions, hooks.post],
  );
}

function toTrade(order: JitOrder, sellIndex: number) {
  const { side, sellTokenSource, buyTokenDestination, executedAmount, signingScheme } = order;
  // The address of a contract, or of the owner of a pre-signature.
  const owner: Address = `0x${order.signature.slice(2, 42)}`;
  const signature: Hex = signingScheme === 'eip1271' ? `0x${order.signature.slice(42)}` : order.signature;
  const terms = { kind: side, sellTokenBalance: sellTokenSource, buyTokenBalance: buyTokenDestination, feeAmount: 0n };
  const executed = BigInt(executedAmount);
  return {
    order: { ...order, ...terms },
    owner,
    signingScheme,
    signature,
    executed,
    sellIndex,
    buyIndex: sellIndex + 1,
  };
}
