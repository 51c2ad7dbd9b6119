import type { Store } from 'intentbook';

/** A store whose process can be killed: nothing that is called later has an effect. */
export interface KillableStore {
  readonly store: Store;
  kill(): Promise<void>;
}

/** Wraps a store for one process. The storage behind it outlives the process. */
export function createKillableStore(inner: Store): KillableStore {
  let isDead = false;
  const never = new Promise<never>(() => {});

  /** A call that ends after the death of the process has no receiver. */
  const wrap = (part: object): object =>
    Object.fromEntries(
      Object.entries(part).map(([name, member]) => {
        if (typeof member !== 'function') return [name, member];
        return [
          name,
          (...parameters: unknown[]): unknown => {
            if (isDead) return name === 'isNewest' ? false : never;
            const result: unknown = member(...parameters);
            return result instanceof Promise ? result.then((value) => (isDead ? never : value)) : result;
          },
        ];
      }),
    );

  const { traits, open, close, check, ...parts } = inner;
  const wrapped = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, wrap(part)]));
  return {
    store: { traits, open, close, check, ...wrapped } as unknown as Store, // the same parts with the same methods
    async kill() {
      isDead = true;
      await inner.close();
    },
  };
}
