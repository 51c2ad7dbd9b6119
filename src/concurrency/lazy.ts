/** A module of the engine that is loaded on first use. */
export interface Lazy<T> {
  /** `undefined` until the module is loaded. */
  readonly loaded: T | undefined;
  /** Loads the module, once for concurrent callers. After a failure the next call tries again. */
  load(): Promise<T>;
  /** Runs a job with the module, and loads it before if necessary. */
  use<R>(job: (loaded: T) => Promise<R>): Promise<R>;
}

/** Creates a lazy module. Books without quotes, indexing or auctions do not load the code for them. */
export function lazy<T>(create: () => Promise<T>): Lazy<T> {
  let loaded: T | undefined;
  let loading: Promise<T> | undefined;

  function load(): Promise<T> {
    loading ??= create().then(
      (value) => {
        loaded = value;
        return value;
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
