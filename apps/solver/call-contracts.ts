import type { Address, Hex } from 'intentbook';
import { compileCalls, decodeCalls, decodeWords, untilAborted } from '#internal';
import { formatReason } from './format-reason.ts';
import type { NodeClient } from './types.ts';

/** A read of a contract. */
export interface ContractCall {
  readonly to: Address;
  readonly data: Hex;
}

/** Gas limit of each call. */
const GAS = 200_000;

/** Bytes of each return data: two words. */
const KEEP = 64;

/**
 * Makes many calls in few requests.
 *
 * @returns The first two words of each return data. No words for a call that fails.
 * @throws Error if the node does not execute the calls, or the reason of the signal.
 */
export async function callContracts(
  client: NodeClient,
  calls: readonly ContractCall[],
  signal: AbortSignal,
): Promise<readonly (readonly bigint[])[]> {
  const results: (readonly bigint[])[] = [];
  const limited = calls.map((call) => ({ ...call, gas: GAS }));
  for (const program of compileCalls(limited, KEEP)) {
    signal.throwIfAborted();
    const request = { method: 'eth_call', params: [{ data: program.code }, 'latest'] };
    const result = await untilAborted(client.request(request), signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new Error(`the node did not execute the calls: ${formatReason(error)}`);
    });
    if (typeof result !== 'string' || !/^0x[0-9a-fA-F]*$/.test(result) || result.length !== 2 + 2 * program.size) {
      throw new TypeError(`the result of the calls must have ${program.size} bytes`);
    }
    for (const { success, size, data } of decodeCalls(result as Hex, program, KEEP)) {
      results.push(success ? decodeWords(data).slice(0, Math.floor(size / 32)) : []);
    }
  }
  signal.throwIfAborted();
  return results;
}
