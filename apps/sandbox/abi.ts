import { keccak_256 } from '@noble/hashes/sha3.js';
import type { Hex } from 'intentbook';
import { bytes, tuple } from '#internal';

/** An argument of a call: integers, booleans and addresses by value, byte strings of dynamic size as `{ bytes }`. */
export type Argument = bigint | number | boolean | Hex | { readonly bytes: Hex };

/** Encodes a call of a function by its signature, such as `transfer(address,uint256)`. */
export function encodeFunctionCall(signature: string, ...args: readonly Argument[]): Hex {
  return `${keccakHex(new TextEncoder().encode(signature)).slice(0, 10) as Hex}${encodeArguments(args)}`;
}

/** Encodes arguments, such as those of a constructor, without `0x`. */
export function encodeArguments(args: readonly Argument[]): string {
  const encoded = args.map((arg) => {
    return typeof arg === 'object' ? bytes(arg.bytes) : { dynamic: false, words: integerWord(BigInt(arg)) };
  });
  return tuple(encoded).words;
}

export function keccakHex(data: Uint8Array): Hex {
  return `0x${Buffer.from(keccak_256(data)).toString('hex')}`;
}

/** Computes the slot of a mapping's member (Solidity's storage layout). */
export function mappingSlot(key: Hex, slot: bigint | Hex): Hex {
  return keccakHex(Buffer.from(integerWord(BigInt(key)) + integerWord(BigInt(slot)), 'hex'));
}

/** Derives an address from a label: the same for every sandbox. */
export function labelledAddress(label: string): Hex {
  return `0x${keccakHex(new TextEncoder().encode(`intentbook sandbox ${label}`)).slice(26)}`;
}

/** Renders an integer as 32 bytes in hex without `0x`; negative ones as a two's complement. */
export function integerWord(value: bigint): string {
  return BigInt.asUintN(256, value).toString(16).padStart(64, '0');
}

/** Renders a short ASCII text as bytes, left-aligned in 32 bytes. */
export function textWord(text: string): Hex {
  return `0x${Buffer.from(text, 'latin1').toString('hex').padEnd(64, '0')}`;
}
