import { EventEmitter } from 'eventemitter3';
import { QueueFullError } from '../concurrency/abort.ts';
import { callListener } from '../listeners.ts';
import { type Clock, readMonotonic } from '../ports/clock.ts';

/** The data that a source of the account interface returns. */
export type SourceSubject =
  | 'usdPrice'
  | 'priceHistory'
  | 'tokenHolders'
  | 'tokenBalances'
  | 'tokenDetails'
  | 'pools'
  | 'simulation'
  | 'affiliateStatistics';

/** A query of a source of the account interface, or of its cache. */
export interface SourceObservation {
  readonly subject: SourceSubject;
  /** Name of the source; `cache` for a value that was cached. */
  readonly source: string;
  /**
   * `empty`: the source has no value. `failed`: an error or a timeout. `busy`: too many queries waited, or this one
   * waited too long; the source was not queried.
   */
  readonly outcome: 'cached' | 'responded' | 'empty' | 'failed' | 'busy';
  /** Duration in milliseconds; 0 for a cached value. */
  readonly ms: number;
}

/** Receives observations. */
export type SourceListener = (observation: SourceObservation) => void;

/** Measures queries of sources. */
export type SourceObserver = ReturnType<typeof createSourceObserver>;

/** Creates an observer. An error of a listener is reported, and the query is not affected. */
export function createSourceObserver(clock: Clock, onFailure: (failure: unknown) => void) {
  const emitter = new EventEmitter<{ observation: SourceListener }>();

  function notify(observation: SourceObservation): void {
    // The `emit` of eventemitter3 ends at the first listener that throws.
    for (const listener of emitter.listeners('observation')) callListener(listener, observation, onFailure);
  }

  return {
    /** Adds a listener. @returns a function that removes it. */
    observe(listener: SourceListener): () => void {
      emitter.on('observation', listener);
      return () => void emitter.off('observation', listener);
    },
    /** Reports a value that was cached. */
    cached: (subject: SourceSubject): void => notify({ subject, source: 'cache', outcome: 'cached', ms: 0 }),
    /** Runs a query and reports its outcome and its duration. */
    async measure<T>(subject: SourceSubject, source: string, query: () => Promise<T>): Promise<T> {
      const since = readMonotonic(clock);
      const report = (outcome: SourceObservation['outcome']) =>
        notify({ subject, source, outcome, ms: Math.max(0, readMonotonic(clock) - since) });
      try {
        const value = await query();
        report(value === undefined ? 'empty' : 'responded');
        return value;
      } catch (failure) {
        report(failure instanceof QueueFullError ? 'busy' : 'failed');
        throw failure;
      }
    },
  };
}
