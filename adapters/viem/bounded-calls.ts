import type { Address, Hex } from 'intentbook';
import type { RpcClient } from './rpc.ts';
import { callRpc, hex } from './rpc.ts';

/** A call to a contract that nobody vouches for. */
export interface BoundedCall {
  readonly to: Address;
  readonly data: Hex;
  /** What it may use. */
  readonly gas: number;
}

export interface BoundedAnswer {
  readonly success: boolean;
  /** The first 32 bytes of what it returned, with zeros where it returned less. */
  readonly word: Hex;
  /** The first bytes of what it returned, as many as are kept, with zeros where it returned less. */
  readonly data: Hex;
  /** How many bytes it returned. */
  readonly size: number;
  /** Whether there is a contract at all. */
  readonly exists: boolean;
}

/**
 * Makes static calls in one request and on one state, each with the gas it is given, and brings back the first bytes of
 * each answer however long it is. A program of a few instructions does so, sent as the code of a contract to be created, which
 * nothing is: every node runs it in `eth_call`, and no contract needs to be deployed for it.
 *
 * @param keep bytes of each answer that are brought back, a multiple of 32.
 */
export async function boundedCalls(
  client: RpcClient,
  calls: readonly BoundedCall[],
  signal: AbortSignal,
  keep = 32,
): Promise<BoundedAnswer[]> {
  const size = HEAD + keep;
  const answer = hex(
    await callRpc(client, signal, 'eth_call', [{ data: program(calls, keep) }, 'latest']),
    calls.length * size,
  );
  return calls.map((_, i) => {
    const record = answer.slice(2 + 2 * i * size, 2 + 2 * (i + 1) * size);
    const word = (n: number): Hex => `0x${record.slice(64 * n, 64 * n + 64)}`;
    const [success, exists] = [BigInt(word(0)) === 1n, BigInt(word(2)) > 0n];
    return { success, size: Number(word(1)), exists, word: word(3), data: `0x${record.slice(2 * HEAD)}` };
  });
}

/** What is kept of each call besides its answer: whether it went well, how much it returned, the size of its code. */
const HEAD = 96;

/** The program returns no code: its first byte is 0, which no format to come begins with (EIP-3541). */
function program(calls: readonly BoundedCall[], keep: number): Hex {
  const size = HEAD + keep;
  const records = calls.length * size;
  const end = `${push(records)}${PUSH_0}${RETURN}`;
  const sizes = calls.map(({ data }) => (data.length - 2) / 2);
  // Every instruction has one length, so where the data of the calls begins is known before they are written.
  const first = calls.reduce((sum, call) => sum + write(call, 0, 0, 0, 0, keep).length / 2, end.length / 2);
  let dataAt = first;
  const code = calls.map((call, i) => {
    const length = sizes[i] ?? 0;
    const text = write(call, i * size, records, dataAt, length, keep);
    dataAt += length;
    return text;
  });
  return `0x${code.join('')}${end}${calls.map(({ data }) => data.slice(2)).join('')}`;
}

/** Copies the call's data to `scratch`, makes the call, and keeps its record at `at`. Operands stand last first. */
function write(
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
    push(keep),
    push(at + HEAD),
    push(size),
    push(scratch),
    address,
    push(gas),
    STATICCALL,
    push(at),
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
const [CODECOPY, STATICCALL, MSTORE, RETURNDATASIZE, EXTCODESIZE, RETURN] = ['39', 'fa', '52', '3d', '3b', 'f3'];
