import { keccak256 } from './keccak.ts';
import type { RecoveryBackend } from './recovery.ts';

/** Bytes of a packed signature: the 32 that were signed, r and s, and the recovery id. */
export const PACKED_SIGNATURE = 97;

/** Bytes of a packed answer: 1 and the signer's address, or 0 and nothing where no key fits. */
export const PACKED_SIGNER = 21;

/**
 * Recovers signers on other threads. Signatures are handed over many at a time in one buffer, since it is messages that
 * cost, not bytes.
 */
export interface RecoveryPool {
  /** How many threads there are. */
  readonly threads: number;
  /** Fewer signatures than this are recovered where they are: handing them over would take longer. */
  readonly smallest: number;

  /**
   * @param signatures packed, each of `PACKED_SIGNATURE` bytes. The buffer is given away.
   * @returns for each in its place `PACKED_SIGNER` bytes, as `recoverPacked` makes them.
   */
  recover(signatures: Uint8Array<ArrayBuffer>): Promise<Uint8Array>;
}

/** Packs a signature as the one at `index`. */
export function packSignature(
  target: Uint8Array,
  index: number,
  digest: Uint8Array,
  rs: Uint8Array,
  recoveryId: 0 | 1,
): void {
  const at = index * PACKED_SIGNATURE;
  target.set(digest, at);
  target.set(rs, at + 32);
  target[at + 96] = recoveryId;
}

/** Recovers packed signatures, one after the other. What a pool does on each of its threads. */
export function recoverPacked(signatures: Uint8Array, backend: RecoveryBackend): Uint8Array<ArrayBuffer> {
  const signers = new Uint8Array((signatures.length / PACKED_SIGNATURE) * PACKED_SIGNER);
  for (let from = 0, to = 0; from < signatures.length; from += PACKED_SIGNATURE, to += PACKED_SIGNER) {
    const digest = signatures.subarray(from, from + 32);
    const rs = signatures.subarray(from + 32, from + 96);
    const key = backend.recover(digest, rs, signatures[from + 96] === 1 ? 1 : 0);
    if (key === undefined) continue;
    signers[to] = 1;
    signers.set(toAddress(key), to + 1);
  }
  return signers;
}

/** The address of an uncompressed public key: the last 20 bytes of its hash. */
export function toAddress(key: Uint8Array): Uint8Array {
  return keccak256(key.subarray(1)).subarray(12);
}
