import type { Query } from '../query.ts';
import type { PostgresSession } from '../session.ts';

/**
 * Within a transaction: waits until no other has this turn, and keeps it until the commit.
 *
 * @returns the number that the one before has left.
 */
export type AcquireLock = (run: Query, name: 'log' | 'affiliates' | 'subscriptions') => Promise<number>;

export function createSerialLock({ schema: s, prepare }: PostgresSession): AcquireLock {
  const take = prepare<readonly [number]>(`SELECT last FROM ${s}.turns WHERE name = $1 FOR UPDATE`);
  return async (run, name) => {
    const [row] = await run(take, name);
    if (row === undefined) throw new Error(`nobody can have the turn "${name}"`);
    return row[0];
  };
}
