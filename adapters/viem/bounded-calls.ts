import type { BoundedCall, BoundedResult } from '#internal';
import { compileCalls, decodeCalls } from '#internal';
import type { RpcClient } from './rpc.ts';
import { callRpc, parseHexResult } from './rpc.ts';

/**
 * Makes static calls to untrusted contracts, each with its gas limit, and returns the first bytes of each return data.
 * The calls are made in one request and on one state. The size of the result limits a request to 153 calls, or less
 * with a larger `keep`; more calls need several requests.
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
    const result = await callRpc(client, signal, 'eth_call', [{ data: program.code }, 'latest']);
    results.push(...decodeCalls(parseHexResult(result, program.size), program, keep));
  }
  return results;
}
