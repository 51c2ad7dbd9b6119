import type { Query } from '../query.ts';
import type { PostgresSession } from '../session.ts';

/**
 * Acquires an exclusive lock until the commit. Must run within a transaction.
 *
 * @returns The number that the previous holder stored.
 */
export type AcquireLock = (run: Query, name: 'log' | 'affiliates' | 'subscriptions') => Promise<number>;

export function createSerialLock({ schema: s, prepare }: PostgresSession): AcquireLock {
  const lock = prepare<readonly [number]>(`SELECT last FROM ${s}.locks WHERE name = $1 FOR UPDATE`);
  return async (run, name) => {
    const [row] = await run(lock, name);
    if (row === undefined) throw new Error(`the row "${name}" of the table "locks" is missing`);
    return row[0];
  };
}
