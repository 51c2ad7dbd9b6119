import { type BoundedCall, type BoundedResult, compileCalls, decodeCalls } from '#internal';
import { callRpc, NodeError, parseHexResult, type RpcClient } from './rpc.ts';

/** Gas that every node allows for one request. Nodes limit it to 30 million or more. */
const ALLOWED_GAS = 20_000_000;

/**
 * Makes static calls to untrusted contracts, each with its gas limit, and returns the first bytes of each return data.
 * The calls are made in one request and on one state. The size of the result limits a request to 153 calls, or less
 * with a larger `keep`; more calls need several requests. If a request fails, which calls that use up their gas can
 * cause, its calls are made in smaller requests.
 *
 * @param keep - Bytes of each return data to keep, a multiple of 32.
 */
export async function boundedCalls(
  client: RpcClient,
  calls: readonly BoundedCall[],
  signal: AbortSignal,
  keep = 32,
): Promise<BoundedResult[]> {
  const results: BoundedResult[] = [];
  for (const program of compileCalls(calls, keep)) {
    try {
      const result = await callRpc(client, signal, 'eth_call', [{ data: program.code }, 'latest']);
      results.push(...decodeCalls(parseHexResult(result, program.size), program, keep));
    } catch (error) {
      const parts = splitByGas(calls.slice(results.length, results.length + program.calls));
      if (!(error instanceof NodeError) || error.unsupported || parts.length === 1) throw error;
      for (const part of parts) results.push(...(await boundedCalls(client, part, signal, keep)));
    }
  }
  return results;
}

/** Splits calls into parts that cannot use more gas than a node allows, except for a single call. */
function splitByGas(calls: readonly BoundedCall[]): readonly BoundedCall[][] {
  const parts: BoundedCall[][] = [];
  let left = 0;
  for (const call of calls) {
    if (call.gas > left || parts.length === 0) {
      parts.push([]);
      left = ALLOWED_GAS;
    }
    parts.at(-1)?.push(call);
    left -= call.gas;
  }
  return parts;
}
