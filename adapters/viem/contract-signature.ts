import type { Address, Hex } from 'intentbook';
import type { BoundedAnswer } from './bounded-calls.ts';

/** What a contract answers that calls a signature its own (EIP-1271), as a word. */
const MAGIC = `0x1626ba7e${'0'.repeat(56)}`;

/** What a signature for a contract that is not there yet ends with (ERC-6492). */
const WRAPPED = '6492'.repeat(16);

/** `isValidSignature(bytes32,bytes)`. */
export function isValidSignatureData(digest: Hex, signature: Hex): Hex {
  const size = (signature.length - 2) / 2;
  const padding = '00'.repeat((32 - (size % 32)) % 32);
  return `0x1626ba7e${digest.slice(2)}${word(64)}${word(size)}${signature.slice(2)}${padding}`;
}

/** @returns `undefined` when the contract says yes, else why it does not count as one. */
export function signatureRejection({ success, word: answer, size, exists }: BoundedAnswer): string | undefined {
  if (!exists) return 'no contract at this address';
  if (!success) return 'reverted, or ran out of gas';
  if (size < 32) return `answered ${size} bytes`;
  return answer === MAGIC ? undefined : `answered ${answer.slice(0, 10)}`;
}

/** A call that makes the contract, and the signature that is meant for it then. */
export interface Unwrapped {
  readonly factory: Address;
  readonly factoryData: Hex;
  readonly signature: Hex;
}

/**
 * Takes a signature apart that brings its contract along: `abi.encode(factory, factoryData, signature)` and a indexedBlock.
 *
 * @returns `undefined` when it is an ordinary one.
 */
export function unwrap(signature: Hex): Unwrapped | undefined {
  if (!signature.endsWith(WRAPPED)) return undefined;
  const text = signature.slice(2, -WRAPPED.length);
  const at = (place: number) => text.slice(64 * place, 64 * place + 64);
  const bytes = (place: number): Hex | undefined => {
    const head = 2 * Number(`0x${at(place)}`);
    const size = 2 * Number(`0x${text.slice(head, head + 64)}`);
    return head + 64 + size <= text.length ? `0x${text.slice(head + 64, head + 64 + size)}` : undefined;
  };
  const [factoryData, inner] = [bytes(1), bytes(2)];
  if (factoryData === undefined || inner === undefined) return undefined;
  return { factory: `0x${at(0).slice(24)}`, factoryData, signature: inner };
}

const word = (value: number) => value.toString(16).padStart(64, '0');
