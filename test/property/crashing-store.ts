import type { Store } from 'intentbook';
import { StoreError } from 'intentbook';

/** A store with injected failures at any call and injected process crashes at writes. */
export interface CrashingStore {
  readonly store: Store;
  /** Fails one call after the given number of calls, like a disk or a network. Negative: no call. */
  failAfter(calls: number): void;
  /** Crashes at the next write: before it, or after it and before the caller gets the result. */
  crashAtNextWrite(when: 'before' | 'after'): void;
  /** Crashes at once. Later calls never return. */
  crashNow(): void;
  /** Resolves after the crash. */
  readonly crashed: Promise<void>;
  readonly isDead: boolean;
}

const WRITES = new Set('insert cancel expire reinstate prune put apply adopt rollback record write'.split(' '));
const NOUNS = ['orders', 'appData', 'quotes', 'events', 'leases', 'chain', 'auctions', 'tasks', 'retention'] as const;

type Verb = (...args: unknown[]) => unknown;

export function crashing(inner: Store): CrashingStore {
  let crashAt: 'before' | 'after' | undefined;
  let dead = false;
  let resolveCrashed = () => {};
  const crashed = new Promise<void>((resolve) => {
    resolveCrashed = resolve;
  });
  let failing = -1;
  const crashNow = () => {
    dead = true;
    resolveCrashed();
  };
  const pending = () => new Promise<never>(() => {});

  function alive(name: string, verb: Verb): Verb {
    if (name === 'watch') return (...args) => (dead ? () => {} : verb(...args));
    return async (...args) => {
      if (dead) return pending();
      if (failing-- === 0) throw new StoreError('Unavailable', 'the disk failed', { cause: new Error('injected') });
      const crashing = WRITES.has(name) ? crashAt : undefined;
      if (crashing === 'before') {
        crashNow();
        return pending();
      }
      if (crashing === 'after') crashAt = undefined;
      const answer = await verb(...args);
      if (crashing === 'after') crashNow();
      return dead ? pending() : answer;
    };
  }

  const wrapped = NOUNS.map((noun) => {
    const verbs = Object.entries(inner[noun]) as [string, Verb][]; // groups contain only methods
    return [noun, Object.fromEntries(verbs.map(([name, verb]) => [name, alive(name, verb)]))];
  });
  const store = {
    traits: inner.traits,
    open: (context: Parameters<Store['open']>[0]) => inner.open(context),
    close: () => inner.close(),
    check: () => inner.check(),
    ...Object.fromEntries(wrapped),
  } as Store; // the same groups with the same methods
  return {
    store,
    crashed,
    crashNow,
    failAfter(calls) {
      failing = calls;
    },
    crashAtNextWrite(when) {
      crashAt = when;
    },
    get isDead() {
      return dead;
    },
  };
}
