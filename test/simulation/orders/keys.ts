import { instantiateSecp256k1 } from '@bitauth/libauth/build/lib/crypto/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import type { Address, Hex, RecoveryBackend } from 'intentbook';
import { nativeRecovery } from 'intentbook/native';
import { bytesToHex, hexToBytes } from '#internal';

/** An account that signs. Signatures are deterministic (RFC 6979). */
export interface Signer {
  readonly address: Address;
  sign(digest: Hex): Hex;
  /** Signs a digest as a message (EIP-191). */
  signMessage(digest: Hex): Hex;
}

const PREFIX = new TextEncoder().encode('\x19Ethereum Signed Message:\n32');

let instance: ReturnType<typeof instantiateSecp256k1> | undefined;

/** Loads accounts with fixed keys. */
export async function loadSigners(count: number): Promise<Signer[]> {
  instance ??= instantiateSecp256k1();
  const secp256k1 = await instance;
  return Array.from({ length: count }, (_, i) => {
    const key = keccak_256(new TextEncoder().encode(`intentbook simulation ${i}`));
    const publicKey = secp256k1.derivePublicKeyUncompressed(key);
    if (typeof publicKey === 'string') throw new Error(publicKey);
    const sign = (digest: Uint8Array): Hex => {
      const signed = secp256k1.signMessageHashRecoverableCompact(key, digest);
      if (typeof signed === 'string') throw new Error(signed);
      return `${bytesToHex(signed.signature)}${(27 + signed.recoveryId).toString(16)}` as Hex; // both are hex
    };
    return {
      address: bytesToHex(keccak_256(publicKey.slice(1)).slice(12)),
      sign: (digest) => sign(hexToBytes(digest)),
      signMessage: (digest) => sign(keccak_256(Uint8Array.from([...PREFIX, ...hexToBytes(digest)]))),
    };
  });
}

let recovery: Promise<RecoveryBackend> | undefined;

/** Loads the backend of all books, once per process: each instantiation of WebAssembly is asynchronous. */
export function loadRecovery(): Promise<RecoveryBackend> {
  recovery ??= nativeRecovery().catch(createWasmRecovery).then(rememberKeys);
  return recovery;
}

/** Number of recovered keys that are kept. */
const MAX_KEYS = 20_000;

/** Keeps recovered keys: seeds of one process use the same orders. */
function rememberKeys({ name, recover }: RecoveryBackend): RecoveryBackend {
  const keys = new Map<string, Uint8Array | undefined>();
  return {
    name,
    recover(digest, rs, recoveryId) {
      const request = `${bytesToHex(digest)}${bytesToHex(rs)}${recoveryId}`;
      if (keys.has(request)) return keys.get(request);
      if (keys.size === MAX_KEYS) keys.clear();
      const key = recover(digest, rs, recoveryId);
      keys.set(request, key);
      return key;
    },
  };
}

async function createWasmRecovery(): Promise<RecoveryBackend> {
  const secp256k1 = await instantiateSecp256k1();
  return {
    name: 'wasm',
    recover(digest, rs, recoveryId) {
      const key = secp256k1.recoverPublicKeyUncompressed(rs, recoveryId, digest);
      return typeof key === 'string' ? undefined : key;
    },
  };
}
