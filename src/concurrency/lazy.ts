/** A part of the engine that is loaded when it is first needed. */
export interface Lazy<T> {
  /** Absent until it is loaded. */
  readonly loaded: T | undefined;
  /** Loads it, once for all who ask. After a failure the next who asks tries again. */
  load(): Promise<T>;
  /** Does something with it: at once where it is there. */
  use<R>(job: (part: T) => Promise<R>): Promise<R>;
}

/** Not every book quotes, follows a chain or holds auctions; those that do not need not carry what does. */
export function lazy<T>(make: () => Promise<T>): Lazy<T> {
  let loaded: T | undefined;
  let loading: Promise<T> | undefined;

  function load(): Promise<T> {
    loading ??= make().then(
      (part) => {
        loaded = part;
        return part;
      },
      (failure) => {
        loading = undefined;
        throw failure;
      },
    );
    return loading;
  }

  return {
    get loaded() {
      return loaded;
    },
    load,
    async use(job) {
      return job(loaded ?? (await load()));
    },
  };
}
