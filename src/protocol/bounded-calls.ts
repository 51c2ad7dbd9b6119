import type { Address, Hex } from './hex.ts';

/** Call to an untrusted contract. */
export interface BoundedCall {
  readonly to: Address;
  readonly data: Hex;
  /** Gas limit. */
  readonly gas: number;
}

export interface BoundedResult {
  readonly success: boolean;
  /** First 32 bytes of the return data, padded with zeros. */
  readonly word: Hex;
  /** First `keep` bytes of the return data, padded with zeros. */
  readonly data: Hex;
  /** Size of the return data in bytes. */
  readonly size: number;
  /** Whether the address has contract code. */
  readonly exists: boolean;
  /** Gas that the call used. `undefined` if it is not known. */
  readonly gas?: number;
}

/** A program that makes static calls. It is sent as the code of a contract creation in `eth_call`. */
export interface CallProgram {
  readonly code: Hex;
  /** Number of the calls. */
  readonly calls: number;
  /** Size of its return data in bytes. */
  readonly size: number;
}

/** Maximum size of the code of a contract creation in bytes (EIP-3860), and of its return data (EIP-170). */
const MAX_CODE = 49_152;
const MAX_RESULT = 24_576;

/**
 * Compiles static calls, each with its gas limit, to short programs. A program runs on one state and returns the first
 * bytes of each return data, whatever its size. Every node runs it in `eth_call`, and no contract has to be deployed.
 *
 * @param keep - Bytes of each return data to keep, a multiple of 32.
 * @returns One program, or several if the code or the return data would be larger than a contract creation allows.
 */
export function compileCalls(calls: readonly BoundedCall[], keep: number): readonly CallProgram[] {
  const programs: CallProgram[] = [];
  let batch: BoundedCall[] = [];
  let size = 0;
  const flush = () => {
    const result = { calls: batch.length, size: batch.length * (HEAD + keep) };
    if (batch.length > 0) programs.push({ code: compileProgram(batch, keep), ...result });
    batch = [];
    size = END_SIZE;
  };
  flush();
  for (const call of calls) {
    const added = CALL_SIZE + (call.data.length - 2) / 2;
    if (size + added > MAX_CODE || (batch.length + 1) * (HEAD + keep) > MAX_RESULT) flush();
    batch.push(call);
    size += added;
  }
  flush();
  return programs;
}

export function decodeCalls(result: Hex, { calls }: CallProgram, keep: number): BoundedResult[] {
  const size = HEAD + keep;
  return Array.from({ length: calls }, (_, i) => {
    const record = result.slice(2 + 2 * i * size, 2 + 2 * (i + 1) * size);
    const word = (n: number): Hex => `0x${record.slice(64 * n, 64 * n + 64)}`;
    const [success, exists] = [BigInt(word(0)) === 1n, BigInt(word(2)) > 0n];
    const gas = Number(word(3));
    return { success, size: Number(word(1)), exists, gas, word: word(4), data: `0x${record.slice(2 * HEAD)}` };
  });
}

/** Size of the header of each record: success, size of the return data, size of the code, gas used. */
const HEAD = 128;

/**
 * Compiles one program. It returns no contract code: its first byte is 0, which no code format begins with
 * (EIP-3541).
 */
function compileProgram(calls: readonly BoundedCall[], keep: number): Hex {
  const size = HEAD + keep;
  const records = calls.length * size;
  const end = `${push(records)}${PUSH_0}${RETURN}`;
  const sizes = calls.map(({ data }) => (data.length - 2) / 2);
  // Every instruction has a fixed length, so the offset of the call data is known before the code is complete.
  const first = END_SIZE + calls.length * CALL_SIZE;
  let dataAt = first;
  const code = calls.map((call, i) => {
    const length = sizes[i] ?? 0;
    const text = compileCall(call, i * size, records, dataAt, length, keep);
    dataAt += length;
    return text;
  });
  return `0x${code.join('')}${end}${calls.map(({ data }) => data.slice(2)).join('')}`;
}

/**
 * Compiles one call: copies its data to `scratch`, calls, and writes the record at `at`. Operands are in reverse order.
 */
function compileCall(
  { to, gas }: BoundedCall,
  at: number,
  scratch: number,
  dataAt: number,
  size: number,
  keep: number,
): string {
  const address = `${PUSH_20}${to.slice(2)}`;
  return [
    push(size),
    push(dataAt),
    push(scratch),
    CODECOPY,
    GAS,
    push(keep),
    push(at + HEAD),
    push(size),
    push(scratch),
    address,
    push(gas),
    STATICCALL,
    push(at),
    MSTORE,
    // The gas before the call, less the gas after it.
    GAS,
    SWAP_1,
    SUB,
    push(at + 96),
    MSTORE,
    RETURNDATASIZE,
    push(at + 32),
    MSTORE,
    address,
    EXTCODESIZE,
    push(at + 64),
    MSTORE,
  ].join('');
}

const push = (value: number) => `63${value.toString(16).padStart(8, '0')}`;
const [PUSH_0, PUSH_20] = ['6000', '73'];
const [GAS, SWAP_1, SUB] = ['5a', '90', '03'];
const [CODECOPY, STATICCALL, MSTORE, RETURNDATASIZE, EXTCODESIZE, RETURN] = ['39', 'fa', '52', '3d', '3b', 'f3'];

/** Sizes of the end of a program, and of a call without its data, in bytes. */
const END_SIZE = 8;
const CALL_SIZE = 114;
