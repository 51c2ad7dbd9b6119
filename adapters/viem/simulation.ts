import type { Address, Hex, InteractionData } from 'intentbook';
import { callRpc, list, NodeError, parseHexResult, type RpcClient, record, toRpcCall } from './rpc.ts';

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

/** A block to simulate, in the form of the node. Its values replace the state. */
interface SimulatedBlock {
  readonly calls: readonly object[];
  readonly stateOverrides: object | undefined;
  readonly blockOverrides?: object;
}

/** Simulates calls in one block after another one (`eth_simulateV1`). Returns the results in the form of the node. */
export async function simulateV1(
  client: RpcClient,
  { stateOverrides = {}, ...simulated }: SimulatedBlock,
  signal: AbortSignal,
  after = 'latest',
) {
  const overrides = Object.keys(stateOverrides).length === 0 ? {} : { stateOverrides };
  const params = [{ blockStateCalls: [{ ...simulated, ...overrides }], validation: false }, after];
  const [block] = list(await callRpc(client, signal, 'eth_simulateV1', params));
  const results = list(record(block)['calls']).map(record);
  if (results.length === simulated.calls.length) return results;
  throw new TypeError(`the node simulated ${results.length} calls instead of ${simulated.calls.length}`);
}

/**
 * Simulates calls in sequence on the newest block. Each call sees the effects of the earlier ones.
 *
 * @param stateOverrides - Values that replace the state. Default: none.
 * @returns Undefined if the node does not support the method.
 */
export async function simulateCalls(
  client: RpcClient,
  calls: readonly SimulatedCall[],
  signal: AbortSignal,
  stateOverrides?: object,
): Promise<SimulatedResult[] | undefined> {
  const sent = calls.map(({ data, ...call }) => toRpcCall({ value: 0n, ...call, input: data }));
  try {
    const results = await simulateV1(client, { calls: sent, stateOverrides }, signal);
    return results.map(({ status, returnData, error }) => {
      const reverted = record(error ?? {})['data'] ?? returnData;
      return { success: status === '0x1', data: parseHexResult(reverted ?? '0x') };
    });
  } catch (error) {
    if (error instanceof NodeError && error.unsupported) return undefined;
    throw error;
  }
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
