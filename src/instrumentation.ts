import type { RecoveryBackend } from './crypto/recovery.ts';
import type { ErrorCode } from './errors.ts';
import type { SubmitResult } from './orders/submit.ts';
import type { Clock } from './ports/clock.ts';
import type { Store } from './ports/store.ts';
import type { Verifier } from './protocol/verifier.ts';

/** A store has answered a verb. */
export interface StoreObservation {
  /** `orders.insert`, as the port names it. */
  readonly verb: string;
  /** Milliseconds that it took. */
  readonly ms: number;
  /** Whether it faulted. */
  readonly failed: boolean;
}

/** Signers were recovered. */
export interface RecoveryObservation {
  readonly backend: RecoveryBackend['name'];
  readonly signatures: number;
  /** Milliseconds that all of them took. */
  readonly ms: number;
}

/** Orders were judged. */
export interface SubmissionObservation {
  readonly accepted: number;
  /** The code of each that was rejected. */
  readonly rejected: readonly ErrorCode[];
  /** Milliseconds from their arrival until all of them were stored or rejected. */
  readonly ms: number;
}

/** To whom something is told; nothing is measured while nobody listens. */
export interface Observer<T> {
  hasListeners(): boolean;
  notify(observation: T): void;
}

/** A store that tells how long each of its verbs takes. */
export function observedStore(store: Store, clock: Clock, observer: Observer<StoreObservation>): Store {
  const nouns = Object.entries(store).map(([noun, verbs]) => {
    const plain = typeof verbs !== 'object' || verbs === null || noun === 'traits';
    return [noun, plain ? verbs : observedVerbs(noun, verbs, clock, observer)] as const;
  });
  return Object.fromEntries(nouns) as unknown as Store; // the same nouns, with the same verbs
}

function observedVerbs(noun: string, verbs: object, clock: Clock, observer: Observer<StoreObservation>): object {
  const observed = Object.keys(verbs).map((name) => {
    const ask = (...args: readonly unknown[]): unknown => {
      const listens = observer.hasListeners();
      const since = listens ? clock.now() : 0;
      const answer: unknown = Reflect.apply(Reflect.get(verbs, name), verbs, args);
      if (!listens || !(answer instanceof Promise)) return answer;
      const told = (failed: boolean) => observer.notify({ verb: `${noun}.${name}`, ms: clock.now() - since, failed });
      answer.then(
        () => told(false),
        () => told(true),
      );
      return answer;
    };
    return [name, ask];
  });
  return Object.fromEntries(observed);
}

/** A verifier that tells how long recovering signers takes. */
export function observedVerifier(verifier: Verifier, clock: Clock, observer: Observer<RecoveryObservation>): Verifier {
  return {
    ...verifier,
    async recoverDigests(signed) {
      if (!observer.hasListeners() || signed.length === 0) return verifier.recoverDigests(signed);
      const since = clock.now();
      const signers = await verifier.recoverDigests(signed);
      observer.notify({ backend: verifier.backend, signatures: signed.length, ms: clock.now() - since });
      return signers;
    },
  };
}

/** What is to be told of orders that were judged. */
export function toSubmissionObservation(results: readonly SubmitResult[], ms: number): SubmissionObservation {
  const rejected = results.flatMap((result) => (result.status === 'rejected' ? [result.error.code] : []));
  return { accepted: results.length - rejected.length, rejected: rejected, ms };
}
