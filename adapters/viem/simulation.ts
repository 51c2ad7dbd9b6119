import type { Address, Hex, InteractionData } from 'intentbook';
import { callRpc, list, NodeError, parseHexResult, type RpcClient, record, toQuantity } from './rpc.ts';

/** Call in a simulated block. */
export interface SimulatedCall {
  readonly from: Address;
  readonly to: Address;
  readonly data: Hex;
  readonly value?: bigint;
  readonly gas?: number;
}

/** Result of a simulated call. */
export interface SimulatedResult {
  readonly success: boolean;
  readonly data: Hex;
}

/**
 * Simulates calls in sequence on the newest block (`eth_simulateV1`). Each call sees the effects of the earlier ones.
 *
 * @param stateOverrides - Values that replace the state. Default: none.
 * @returns Undefined if the node does not support the method.
 */
export async function simulateCalls(
  client: RpcClient,
  calls: readonly SimulatedCall[],
  signal: AbortSignal,
  stateOverrides: object = {},
): Promise<SimulatedResult[] | undefined> {
  const block = {
    ...(Object.keys(stateOverrides).length === 0 ? {} : { stateOverrides }),
    calls: calls.map(({ from, to, data, value = 0n, gas }) => ({
      from,
      to,
      input: data,
      value: toQuantity(value),
      ...(gas === undefined ? {} : { gas: toQuantity(gas) }),
    })),
  };
  let result: unknown;
  try {
    result = await callRpc(client, signal, 'eth_simulateV1', [
      { blockStateCalls: [block], validation: false },
      'latest',
    ]);
  } catch (error) {
    if (error instanceof NodeError && error.unsupported) return undefined;
    throw error;
  }
  const results = list(record(list(result)[0])['calls']).map((call) => {
    const { status, returnData, error } = record(call);
    const reverted = record(error ?? {})['data'] ?? returnData;
    return { success: status === '0x1', data: parseHexResult(reverted ?? '0x') };
  });
  if (results.length !== calls.length)
    throw new TypeError(`the node simulated ${results.length} calls instead of ${calls.length}`);
  return results;
}

/** Returns an order's interactions as calls of the settlement contract. */
export function toInteractionCalls(
  settlementContract: Address,
  interactions: readonly InteractionData[],
): SimulatedCall[] {
  return interactions.map(({ target, value, callData }) => ({
    from: settlementContract,
    to: target,
    data: callData,
    value: BigInt(value),
  }));
}
