import { keccak_256 } from '@noble/hashes/sha3.js';

/** Both implementations answer alike; which one is in use shows in nothing but time. */
let hash: (bytes: Uint8Array) => Uint8Array = keccak_256;
let accelerating: Promise<void> | undefined;

/** Keccak-256 as Ethereum uses it: the padding from before FIPS 202. 32 bytes. */
export function keccak256(bytes: Uint8Array): Uint8Array {
  return hash(bytes);
}

const encoder = /* @__PURE__ */ new TextEncoder();

/** Keccak-256 of a text's UTF-8 bytes. */
export function keccak256Text(text: string): Uint8Array {
  return hash(encoder.encode(text));
}

/**
 * From here on hashes in WebAssembly, about ten times as fast as in JavaScript. Compiling is asynchronous, so it is done
 * once, ahead; hashing stays synchronous. Where there is no WebAssembly, everything goes on as before.
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

/** Keccak-256 in WebAssembly. */
export async function wasmKeccak(): Promise<(bytes: Uint8Array) => Uint8Array> {
  // The one algorithm's own bundle: the package's main entry carries all thirty.
  const { default: library } = await import('hash-wasm/dist/keccak.umd.min.js');
  const hasher = await library.createKeccak(256);
  return (bytes) => hasher.init().update(bytes).digest('binary');
}
