import type { RecoveryBackend } from './backend.ts';
import { toAddress } from './keccak.ts';

/** Size of a packed signature in bytes: the digest (32), r and s (64), and the recovery id (1). */
export const PACKED_SIGNATURE = 97;

/** Size of a packed result in bytes: 1 and the signer's address, or zeros if no key can be recovered. */
export const PACKED_SIGNER = 21;

/** Recovers signers on worker threads. Many signatures are passed in one buffer, because the cost is per message. */
export interface RecoveryPool {
  /** Number of threads. */
  readonly threads: number;
  /** Minimum number of signatures for the pool. Fewer are recovered faster on the calling thread. */
  readonly smallest: number;

  /**
   * Recovers the signers of packed signatures.
   *
   * @param signatures - Packed, `PACKED_SIGNATURE` bytes each. The buffer is transferred.
   * @returns `PACKED_SIGNER` bytes for each, in input order, as `recoverPacked` creates them.
   */
  recover(signatures: Uint8Array): Promise<Uint8Array>;
}

/** Writes a packed signature at `index`. */
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

/** Recovers packed signatures sequentially. Each thread of a pool runs this function. */
export function recoverPacked(signatures: Uint8Array, backend: RecoveryBackend): Uint8Array {
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
