import type { Run } from '../query.ts';
import type { Session } from '../session.ts';

/**
 * Within a transaction: waits until no other has this turn, and keeps it until the commit.
 *
 * @returns the number that the one before has left.
 */
export type TakeTurn = (run: Run, name: 'log' | 'affiliates' | 'subscriptions') => Promise<number>;

export function turnsOf({ schema: s, prepare }: Session): TakeTurn {
  const take = prepare<readonly [number]>(`SELECT last FROM ${s}.turns WHERE name = $1 FOR UPDATE`);
  return async (run, name) => {
    const [row] = await run(take, name);
    if (row === undefined) throw new Error(`nobody can have the turn "${name}"`);
    return row[0];
  };
}
