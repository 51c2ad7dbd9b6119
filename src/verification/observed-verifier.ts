import type { RecoveryBackend } from '../crypto/backend.ts';
import type { Observer } from '../listeners.ts';
import { type Clock, readMonotonic } from '../ports/clock.ts';
import type { Verifier } from './verifier.ts';

/** A batch of recovered signers. */
export interface RecoveryObservation {
  readonly backend: RecoveryBackend['name'];
  readonly signatures: number;
  /** Duration of the batch in milliseconds. */
  readonly ms: number;
}

/** Wraps a verifier and reports the duration of each recovery. */
export function observedVerifier(verifier: Verifier, clock: Clock, observer: Observer<RecoveryObservation>): Verifier {
  return {
    ...verifier,
    async recoverDigests(signed) {
      if (!observer.hasListeners() || signed.length === 0) return verifier.recoverDigests(signed);
      const startedAt = readMonotonic(clock);
      const signers = await verifier.recoverDigests(signed);
      observer.notify({ backend: verifier.backend, signatures: signed.length, ms: readMonotonic(clock) - startedAt });
      return signers;
    },
  };
}
