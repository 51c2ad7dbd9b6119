import { withDeadline } from '../concurrency/abort.ts';
import { setBounded } from '../concurrency/bounded-map.ts';
import { type Clock, readMonotonic, thenAlways } from '../ports/clock.ts';
import { AccountError } from './account-error.ts';
import type { SourceObserver, SourceSubject } from './observations.ts';

/** A source that returns a value, or `undefined` if it has none. */
export interface CachedSource<Q, V> {
  /** Name for observations. */
  readonly name: string;
  read(query: Q, call: { readonly signal: AbortSignal }): V | undefined | Promise<V | undefined>;
  /** Receives an error or a timeout of this source. The next source is queried. */
  onFailure(query: Q, cause: unknown): void;
}

/** A value with its remaining time in the cache, in milliseconds. */
export interface CachedValue<V> {
  readonly value: V;
  readonly freshFor: number;
}

export interface SourceCacheOptions<Q, V> {
  readonly sources: readonly CachedSource<Q, V>[];
  /** Returns the key of a query in the cache. */
  readonly key: (query: Q) => string;
  /** Time for which a value is cached, in milliseconds. 0: no cache. */
  readonly ttl: number;
  /** Maximum number of cached values; the oldest are dropped first. */
  readonly maxEntries: number;
  /** Time limit per source, in milliseconds. */
  readonly timeout: number;
  readonly clock: Clock;
  readonly subject: SourceSubject;
  readonly observer: SourceObserver;
  /** Whether a missing value is an AccountError of status 503 if a source has failed. Default: false. */
  readonly reportsOutages?: boolean;
}

/**
 * Creates a cache over sources that are queried in order. Values are cached, missing values are not. Concurrent queries
 * with the same key share one call.
 */
export function createSourceCache<Q, V>(context: SourceCacheOptions<Q, V>) {
  const { sources, key: getKey, ttl, maxEntries, timeout, clock, subject, observer, reportsOutages } = context;
  const cache = new Map<string, { readonly value: V; readonly at: number }>();
  const pendingQueries = new Map<string, Promise<CachedValue<V> | undefined>>();

  async function querySources(query: Q, key: string): Promise<CachedValue<V> | undefined> {
    let hasFailed = false;
    for (const source of sources) {
      const value = await querySource(source, query, () => {
        hasFailed = true;
      });
      if (value === undefined) continue;
      write(key, value);
      return { value, freshFor: ttl };
    }
    // The source that failed may have the value.
    if (hasFailed && reportsOutages === true) throw new AccountError(503, 'The sources of this data have failed', 5);
    return undefined;
  }

  async function querySource(source: CachedSource<Q, V>, query: Q, onFailed: () => void): Promise<V | undefined> {
    try {
      return await observer.measure(subject, source.name, () =>
        withDeadline(clock, timeout, async (signal) => source.read(query, { signal })),
      );
    } catch (cause) {
      source.onFailure(query, cause);
      onFailed();
      return undefined;
    }
  }

  function write(key: string, value: V): void {
    if (ttl === 0) return;
    setBounded(cache, key, { value, at: readMonotonic(clock) }, maxEntries);
  }

  function read(key: string): CachedValue<V> | undefined {
    const cached = cache.get(key);
    if (cached === undefined) return undefined;
    const age = readMonotonic(clock) - cached.at;
    // The age is negative if a clock without monotonic time was set back.
    return age >= 0 && age < ttl ? { value: cached.value, freshFor: ttl - age } : undefined;
  }

  return {
    async get(query: Q): Promise<CachedValue<V> | undefined> {
      const key = getKey(query);
      const cached = read(key);
      if (cached !== undefined) {
        observer.cached(subject);
        return cached;
      }
      let pending = pendingQueries.get(key);
      if (pending === undefined) {
        pending = thenAlways(querySources(query, key), () => pendingQueries.delete(key));
        pendingQueries.set(key, pending);
      }
      return pending;
    },
  };
}
