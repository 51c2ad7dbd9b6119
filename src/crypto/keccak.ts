import { keccak_256 } from '@noble/hashes/sha3.js';

/** Keccak-256 as Ethereum uses it: the padding from before FIPS 202. 32 bytes. */
export function keccak256(bytes: Uint8Array): Uint8Array {
  return keccak_256(bytes);
}

const encoder = /* @__PURE__ */ new TextEncoder();

/** Keccak-256 of a text's UTF-8 bytes. */
export function keccak256Text(text: string): Uint8Array {
  return keccak_256(encoder.encode(text));
}
