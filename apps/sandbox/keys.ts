import { instantiateSecp256k1 } from '@bitauth/libauth/build/lib/crypto/secp256k1.js';
import type { Hex } from 'intentbook';
import { keccakHex } from './abi.ts';
import type { SandboxAccount } from './chain.ts';

/** Signs digests with private keys. */
export type KeyRing = Awaited<ReturnType<typeof createKeyRing>>;

let ring: Promise<KeyRing> | undefined;

/** Loads the signer, once per process. */
export function loadKeyRing(): Promise<KeyRing> {
  ring ??= createKeyRing();
  return ring;
}

async function createKeyRing() {
  const secp256k1 = await instantiateSecp256k1();
  const bytes = (hex: Hex) => Uint8Array.from(Buffer.from(hex.slice(2), 'hex'));
  return {
    /** Recovers a public key, for books: one instance serves all sandboxes of a process. */
    recoverKey(digest: Uint8Array, rs: Uint8Array, recoveryId: 0 | 1): Uint8Array | undefined {
      const publicKey = secp256k1.recoverPublicKeyUncompressed(rs, recoveryId, digest);
      return typeof publicKey === 'string' ? undefined : publicKey;
    },
    /** Derives a key from a text. */
    derive(text: string): SandboxAccount {
      const privateKey = keccakHex(Buffer.from(`intentbook sandbox key ${text}`));
      const publicKey = secp256k1.derivePublicKeyUncompressed(bytes(privateKey));
      if (typeof publicKey === 'string') throw new Error(publicKey);
      return { privateKey, address: toAddress(publicKey) };
    },
    /** Signs 32 bytes: r, s and v, 65 bytes in all. */
    sign(digest: Hex, privateKey: Hex): Hex {
      const signed = secp256k1.signMessageHashRecoverableCompact(bytes(privateKey), bytes(digest));
      if (typeof signed === 'string') throw new Error(signed);
      const v = (27 + signed.recoveryId).toString(16);
      return `0x${Buffer.from(signed.signature).toString('hex')}${v}`;
    },
    /** Recovers the address that has signed 32 bytes; `undefined` if the signature is malformed. */
    recover(digest: Hex, signature: Hex): Hex | undefined {
      const raw = bytes(signature);
      const recoveryId = (raw[64] ?? 0) - 27;
      if (raw.length !== 65 || (recoveryId !== 0 && recoveryId !== 1)) return undefined;
      const publicKey = secp256k1.recoverPublicKeyUncompressed(raw.slice(0, 64), recoveryId, bytes(digest));
      return typeof publicKey === 'string' ? undefined : toAddress(publicKey);
    },
  };
}

const toAddress = (publicKey: Uint8Array): Hex => `0x${keccakHex(publicKey.slice(1)).slice(26)}`;
