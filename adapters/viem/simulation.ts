import type { Address, Hex, InteractionData } from 'intentbook';
import type { RpcClient } from './rpc.ts';
import { callRpc, hex, list, NodeError, record, toQuantity } from './rpc.ts';

/** A call within a simulated block. */
export interface SimulatedCall {
  readonly from: Address;
  readonly to: Address;
  readonly data: Hex;
  readonly value?: bigint;
  readonly gas?: number;
}

export interface SimulatedAnswer {
  readonly success: boolean;
  readonly data: Hex;
}

/**
 * Runs calls one after the other upon the newest block (`eth_simulateV1`), each seeing what those before it have done.
 *
 * @returns `undefined` when the node does not do that.
 */
export async function simulateCalls(
  client: RpcClient,
  calls: readonly SimulatedCall[],
  signal: AbortSignal,
): Promise<SimulatedAnswer[] | undefined> {
  const block = {
    calls: calls.map(({ from, to, data, value = 0n, gas }) => ({
      from,
      to,
      input: data,
      value: toQuantity(value),
      ...(gas === undefined ? {} : { gas: toQuantity(gas) }),
    })),
  };
  let answer: unknown;
  try {
    answer = await callRpc(client, signal, 'eth_simulateV1', [
      { blockStateCalls: [block], validation: false },
      'latest',
    ]);
  } catch (error) {
    if (error instanceof NodeError && error.unsupported) return undefined;
    throw error;
  }
  const results = list(record(list(answer)[0])['calls']).map((result) => {
    const { status, returnData, error } = record(result);
    const reverted = error === undefined ? returnData : (record(error)['data'] ?? returnData);
    return { success: status === '0x1', data: hex(reverted ?? '0x') };
  });
  if (results.length !== calls.length)
    throw new TypeError('the node simulated another number of calls than it was given');
  return results;
}

/** An order's interactions as the settlement contract makes them. */
export function interactionCalls(
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
