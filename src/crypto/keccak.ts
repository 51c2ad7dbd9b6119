import { keccak_256 } from '@noble/hashes/sha3.js';

/** The current implementation. Both return the same results and differ in speed only. */
let hash: (bytes: Uint8Array) => Uint8Array = keccak_256;
let accelerating: Promise<void> | undefined;

/** Returns Keccak-256 as used by Ethereum, with the padding before FIPS 202. 32 bytes. */
export function keccak256(bytes: Uint8Array): Uint8Array {
  return hash(bytes);
}

const encoder = /* @__PURE__ */ new TextEncoder();

/** Returns Keccak-256 of a text's UTF-8 bytes. */
export function keccak256Text(text: string): Uint8Array {
  return hash(encoder.encode(text));
}

/** Returns the address of an uncompressed public key: the last 20 bytes of its hash. */
export function toAddress(key: Uint8Array): Uint8Array {
  return keccak256(key.subarray(1)).subarray(12);
}

/**
 * Switches hashing to WebAssembly, about ten times as fast as JavaScript. Compilation is asynchronous and happens once;
 * hashing stays synchronous. Without WebAssembly, the JavaScript implementation remains in use.
 */
export function accelerateKeccak(): Promise<void> {
  accelerating ??= wasmKeccak().then(
    (fast) => {
      hash = fast;
    },
    () => {}, // a platform without WebAssembly
  );
  return accelerating;
}

/** Creates a Keccak-256 function in WebAssembly. */
export async function wasmKeccak(): Promise<(bytes: Uint8Array) => Uint8Array> {
  // The bundle of one algorithm, because the package's main entry contains all thirty.
  const { default: library } = await import('hash-wasm/dist/keccak.umd.min.js');
  const hasher = await library.createKeccak(256);
  return (bytes) => hasher.init().update(bytes).digest('binary');
}
