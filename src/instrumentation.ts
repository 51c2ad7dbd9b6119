import type { RecoveryBackend } from './crypto/backend.ts';
import type { Observer } from './listeners.ts';
import { type Clock, readMonotonic } from './ports/clock.ts';
import type { Store } from './ports/store.ts';
import type { Verifier } from './verification/index.ts';

/** A finished store operation. */
export interface StoreObservation {
  /** The operation, as the port names it: `orders.insert`. */
  readonly operation: string;
  /** Duration in milliseconds. */
  readonly ms: number;
  /** Whether it threw. */
  readonly failed: boolean;
}

/** A batch of recovered signers. */
export interface RecoveryObservation {
  readonly backend: RecoveryBackend['name'];
  readonly signatures: number;
  /** Duration of the batch in milliseconds. */
  readonly ms: number;
}

/** Wraps a store and reports the duration of each operation. */
export function observedStore(store: Store, clock: Clock, observer: Observer<StoreObservation>): Store {
  const parts = listMembers(store).map(([name, part]) => {
    if (typeof part === 'function') return [name, part.bind(store)] as const;
    const plain = typeof part !== 'object' || part === null || name === 'traits';
    return [name, plain ? part : observedMethods(name, part, clock, observer)] as const;
  });
  return Object.fromEntries(parts) as unknown as Store; // the same parts with the same methods
}

function observedMethods(part: string, methods: object, clock: Clock, observer: Observer<StoreObservation>): object {
  const observed = listMembers(methods).map(([name, member]) => {
    if (typeof member !== 'function') return [name, member] as const; // an optional method that is `undefined`
    const call = (...args: readonly unknown[]): unknown => {
      const measured = observer.hasListeners();
      const startedAt = measured ? readMonotonic(clock) : 0;
      const result: unknown = Reflect.apply(Reflect.get(methods, name), methods, args);
      if (!measured || !(result instanceof Promise)) return result;
      const operation = `${part}.${name}`;
      const notify = (failed: boolean) => observer.notify({ operation, ms: readMonotonic(clock) - startedAt, failed });
      result.then(
        () => notify(false),
        () => notify(true),
      );
      return result;
    };
    return [name, call] as const;
  });
  return Object.fromEntries(observed);
}

/** Lists the members of an object, and those of its class: a store of a host may be an instance. */
function listMembers(object: object): (readonly [name: string, member: unknown])[] {
  const names = new Set<string>();
  for (let at: object = object; at !== Object.prototype && at !== null; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  names.delete('constructor');
  return [...names].map((name) => [name, Reflect.get(object, name)] as const);
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
