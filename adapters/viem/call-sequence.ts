import type { Address, Hex } from 'intentbook';
import { parseHex } from '#internal';
import { callRpc, parseHexResult, type RpcClient, toQuantity } from './rpc.ts';
import type { BlockCall, BlockCallResult } from './settlement.ts';

/** Code of an authenticator that allows every account to settle: it returns 1. */
export const ALLOW_ALL: Hex = '0x600160005260206000f3';

/**
 * Code of an account that makes calls. Its input is a list of target, length and calldata; the first two are words. Its
 * output has three words for each call: whether it succeeded, its gas, and the first word of its result.
 */
const RUNNER: Hex = `0x${[
  // The stack has the position in the input (i), then that in the output (o).
  '6000 6000 5b', // i = 0; o = 0; loop:
  '36 82 10 15 6044 57', // if i is not below the size of the input: end
  '81 6020 01 35', // the length of the calldata
  '80 83 6040 01 62010000 37', // copies the calldata to 0x10000
  '5a', // the gas before the call
  '6020 83 6040 01 83 62010000 6000 88 35 5a f1', // calls the target; the first word of the result goes to o + 64
  '83 52', // stores the success at o
  '5a 90 03 82 6020 01 52', // stores the gas of the call at o + 32
  '82 01 6040 01 91 50', // i = i + 64 + length
  '6060 01 6004 56', // o = o + 96; loop
  '5b 6000 f3', // end: returns the output
]
  .join('')
  .replaceAll(' ', '')}`;

/** Calls of one account in one simulated transaction. */
export interface CallSequence {
  /** The account that makes all calls. Its code is replaced. */
  readonly caller: Address;
  /** The account that sends the transaction. Default: the caller. */
  readonly origin?: Address | undefined;
  readonly calls: readonly Pick<BlockCall, 'to' | 'input'>[];
  readonly stateOverrides: Readonly<Record<Address, object>>;
  /** Gas limit of all calls. */
  readonly gas: number;
}

/** Size of a result in the output of `RUNNER`, in bytes. */
const RESULT_SIZE = 96;

/** Simulates a sequence of calls with `eth_call` and state overrides, which most nodes support. */
export async function simulateSequence(
  client: RpcClient,
  { caller, origin = caller, calls, stateOverrides, gas }: CallSequence,
  signal: AbortSignal,
): Promise<readonly BlockCallResult[]> {
  const data = `0x${calls.map(encodeCall).join('')}`;
  const overrides = { ...stateOverrides, [caller]: { ...stateOverrides[caller], code: RUNNER } };
  const params = [{ from: origin, to: caller, data, gas: toQuantity(gas) }, 'latest', overrides];
  const output = parseHexResult(await callRpc(client, signal, 'eth_call', params), calls.length * RESULT_SIZE);
  return calls.map(({ input }, i): BlockCallResult => {
    const [success, used, result] = [0, 1, 2].map((at) => {
      const start = 2 + 2 * (i * RESULT_SIZE + at * 32);
      return output.slice(start, start + 64);
    });
    return {
      success: BigInt(`0x${success}`) === 1n,
      data: parseHex(`0x${result}`) ?? '0x',
      gas: Number(BigInt(`0x${used}`)) + getIntrinsicGas(input),
      error: undefined,
    };
  });
}

function encodeCall({ to, input }: Pick<BlockCall, 'to' | 'input'>): string {
  return `${to.slice(2).padStart(64, '0')}${((input.length - 2) / 2).toString(16).padStart(64, '0')}${input.slice(2)}`;
}

/** Returns the gas of a transaction with this calldata before its first instruction. */
function getIntrinsicGas(input: Hex): number {
  const bytes = input.slice(2).match(/../g) ?? [];
  return bytes.reduce((sum, byte) => sum + (byte === '00' ? 4 : 16), 21_000);
}
