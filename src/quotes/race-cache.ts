import { type Clock, isRecent } from '../ports/clock.ts';
import type { Race } from './estimator-race.ts';

/** Shares races by key, so that concurrent identical requests call the estimators once. */
export type RaceCache = ReturnType<typeof createRaceCache>;

/** Maximum number of completed races. The oldest are dropped first. */
const CAPACITY = 1_000;

/** @param lifetime - Time from the start for which a completed race is reused, in milliseconds. */
export function createRaceCache(clock: Clock, lifetime: number) {
  const running = new Set<Race<unknown>>();
  const runningByKey = new Map<string, Race<unknown>>();
  const completed = new Map<string, Race<unknown>>();

  const isYounger = ({ startedAt }: Race<unknown>, than: number) => isRecent(clock, startedAt, than);

  function find(key: string, timeout: number): Race<unknown> | undefined {
    const current = runningByKey.get(key);
    if (current !== undefined && isYounger(current, timeout)) return current;
    const before = completed.get(key);
    return before !== undefined && isYounger(before, lifetime) ? before : undefined;
  }

  function addCompleted(key: string, race: Race<unknown>): void {
    completed.delete(key);
    if (race.state === 'complete' && isYounger(race, lifetime)) completed.set(key, race);
    for (const [oldest, known] of completed) {
      if (completed.size <= CAPACITY && isYounger(known, lifetime)) break;
      completed.delete(oldest);
    }
  }

  return {
    /**
     * Returns the race with a key: a running one that is younger than `timeout`, a recently completed one, or a new
     * one.
     */
    share<T>(key: string, timeout: number, start: (onEnd: () => void) => Race<T>): Race<T> {
      const known = find(key, timeout);
      if (known !== undefined) return known as Race<T>; // the key determines the type of the results
      const race = start(() => {
        running.delete(race);
        if (runningByKey.get(key) === race) runningByKey.delete(key);
        addCompleted(key, race);
      });
      if (race.state === 'running') {
        running.add(race);
        runningByKey.set(key, race);
      }
      return race;
    },
    /** Ends all running races for all subscribers. */
    close(): void {
      for (const race of [...running]) race.close();
      completed.clear();
    },
  };
}
