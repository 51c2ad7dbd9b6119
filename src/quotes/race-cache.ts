import type { Clock } from '../ports/clock.ts';
import type { Race } from './estimator-race.ts';

/** Races by what they ask, so that the same question is not asked twice at about the same time. */
export interface RaceCache {
  /**
   * The race that asks a question: one that runs and is younger than `timeout`, or one that has just had every answer,
   * or else a new one.
   */
  share<T>(question: string, timeout: number, start: (onEnd: () => void) => Race<T>): Race<T>;
  /** Ends those that run, for everybody. */
  close(): void;
}

/** How many questions are remembered with their answers at most. The oldest are forgotten first. */
const CAPACITY = 1_000;

/** @param lifetime milliseconds after it was started in which a race that has had every answer still gives them. */
export function createRaceCache(clock: Clock, lifetime: number): RaceCache {
  const running = new Set<Race<unknown>>();
  const flying = new Map<string, Race<unknown>>();
  const landed = new Map<string, Race<unknown>>();

  const isYounger = ({ startedAt }: Race<unknown>, than: number) => {
    const age = clock.now() - startedAt;
    return age >= 0 && age < than; // a clock may step back
  };

  function find(question: string, timeout: number): Race<unknown> | undefined {
    const inTheAir = flying.get(question);
    if (inTheAir !== undefined && isYounger(inTheAir, timeout)) return inTheAir;
    const before = landed.get(question);
    return before !== undefined && isYounger(before, lifetime) ? before : undefined;
  }

  function land(question: string, race: Race<unknown>): void {
    landed.delete(question);
    if (race.state === 'complete' && isYounger(race, lifetime)) landed.set(question, race);
    for (const [oldest, known] of landed) {
      if (landed.size <= CAPACITY && isYounger(known, lifetime)) break;
      landed.delete(oldest);
    }
  }

  return {
    share<T>(question: string, timeout: number, start: (onEnd: () => void) => Race<T>): Race<T> {
      const known = find(question, timeout);
      if (known !== undefined) return known as Race<T>; // a question names the type of its answers
      const race = start(() => {
        running.delete(race);
        if (flying.get(question) === race) flying.delete(question);
        land(question, race);
      });
      if (race.state === 'running') {
        running.add(race);
        flying.set(question, race);
      }
      return race;
    },
    close() {
      for (const race of [...running]) race.close();
      landed.clear();
    },
  };
}
