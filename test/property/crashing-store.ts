import type { Store } from 'intentbook';
import { StoreError } from 'intentbook';

/** A store with injected failures at any call and injected process crashes at writes. */
export interface MortalStore {
  readonly store: Store;
  /** Fails one call after the given number of calls, like a disk or a network. Negative: no call. */
  failAfter(calls: number): void;
  /** Crashes at the next write: before it, or after it and before the caller gets the result. */
  dieAtNextWrite(when: 'before' | 'after'): void;
  /** Crashes at once. Later calls never return. */
  die(): void;
  /** Resolves after the crash. */
  readonly died: Promise<void>;
  readonly isDead: boolean;
}

const WRITES = new Set(['insert', 'cancel', 'expire', 'prune', 'put', 'apply', 'rollback', 'record']);
const NOUNS = ['orders', 'appData', 'quotes', 'events', 'leases', 'chain', 'auctions'] as const;

type Verb = (...args: unknown[]) => unknown;

export function mortal(inner: Store): MortalStore {
  let fate: 'before' | 'after' | undefined;
  let dead = false;
  let tell = () => {};
  const died = new Promise<void>((resolve) => {
    tell = resolve;
  });
  let failing = -1;
  const die = () => {
    dead = true;
    tell();
  };
  const silence = () => new Promise<never>(() => {});

  function alive(name: string, verb: Verb): Verb {
    if (name === 'watch') return (...args) => (dead ? () => {} : verb(...args));
    return async (...args) => {
      if (dead) return silence();
      if (failing-- === 0) throw new StoreError('Unavailable', 'the disk failed', { cause: new Error('injected') });
      const doomed = WRITES.has(name) ? fate : undefined;
      if (doomed === 'before') {
        die();
        return silence();
      }
      if (doomed === 'after') fate = undefined;
      const answer = await verb(...args);
      if (doomed === 'after') die();
      return dead ? silence() : answer;
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
    died,
    die,
    failAfter(calls) {
      failing = calls;
    },
    dieAtNextWrite(when) {
      fate = when;
    },
    get isDead() {
      return dead;
    },
  };
}
