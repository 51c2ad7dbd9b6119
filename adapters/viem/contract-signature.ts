import type { Address, Hex } from 'intentbook';
import type { BoundedResult } from '#internal';

/** Return value of a contract that accepts a signature (EIP-1271), as a word. */
const MAGIC = `0x1626ba7e${'0'.repeat(56)}`;

/** Last bytes of a signature that includes the deployment of its contract (ERC-6492). */
const WRAPPED_SUFFIX = '6492'.repeat(16);

/** Encodes a call of `isValidSignature(bytes32,bytes)`. */
export function encodeIsValidSignature(digest: Hex, signature: Hex): Hex {
  const size = (signature.length - 2) / 2;
  const padding = '00'.repeat((32 - (size % 32)) % 32);
  return `0x1626ba7e${digest.slice(2)}${word(64)}${word(size)}${signature.slice(2)}${padding}`;
}

/** Returns the reason why a result does not accept the signature, or undefined if it does. */
export function getSignatureRejection({ success, word: result, size, exists }: BoundedResult): string | undefined {
  if (!exists) return 'no contract at this address';
  if (!success) return 'reverted or ran out of gas';
  if (size < 32) return `returned ${size} bytes`;
  return result === MAGIC ? undefined : `returned ${result.slice(0, 10)}`;
}

/** Call that deploys the contract, and the signature for the deployed contract. */
export interface UnwrappedSignature {
  readonly factory: Address;
  readonly factoryData: Hex;
  readonly signature: Hex;
}

/**
 * Parses a signature with a deployment: `abi.encode(factory, factoryData, signature)` and a suffix.
 *
 * @returns Undefined for an ordinary signature.
 */
export function unwrapSignature(signature: Hex): UnwrappedSignature | undefined {
  if (!signature.endsWith(WRAPPED_SUFFIX)) return undefined;
  const text = signature.slice(2, -WRAPPED_SUFFIX.length);
  const getWord = (index: number) => text.slice(64 * index, 64 * index + 64);
  const getBytes = (index: number): Hex | undefined => {
    const head = 2 * Number(`0x${getWord(index)}`);
    const size = 2 * Number(`0x${text.slice(head, head + 64)}`);
    return head + 64 + size <= text.length ? `0x${text.slice(head + 64, head + 64 + size)}` : undefined;
  };
  const [factoryData, inner] = [getBytes(1), getBytes(2)];
  if (factoryData === undefined || inner === undefined) return undefined;
  return { factory: `0x${getWord(0).slice(24)}`, factoryData, signature: inner };
}

const word = (value: number) => value.toString(16).padStart(64, '0');
