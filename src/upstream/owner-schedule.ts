import type { UpstreamBook } from './context.ts';
import { put } from './tasks.ts';

/** Reads a second, if the upstream does not state its budget. */
const READ_RATE = 1.5;

/** The shortest time between two reads of an owner, in milliseconds. */
const SHORTEST = 5000;

/** Milliseconds after its newest order in which an owner is read more often. */
const ACTIVE = 3_600_000;

/** Owners that are read at once together, at most. The others keep their turn. */
export const AT_ONCE = 64;

/** When owners are read whose orders are imported. */
export type OwnerSchedule = ReturnType<typeof createOwnerSchedule>;

/**
 * Creates the times at which the newest orders of owners are read. Orders that are posted elsewhere are not announced,
 * so the interval is as short as the read budget allows: a third of it goes round all owners, a sixth is for owners
 * with a recent order, and a sixth for those that chain events concern.
 */
export function createOwnerSchedule({ upstream, tasks, clock }: Pick<UpstreamBook, 'upstream' | 'tasks' | 'clock'>) {
  const third = 3000 / (upstream.readRate ?? READ_RATE);
  const claimActive = createLane(2 * third);
  const claimConcerned = createLane(2 * third);

  /** Moves the next reads of tasks forward. One that was changed meanwhile is being read. */
  async function advance(keys: readonly string[] | undefined, getTime: (due: number) => number): Promise<void> {
    const found = await (keys === undefined
      ? tasks.due('owner', Number.MAX_SAFE_INTEGER, AT_ONCE)
      : tasks.get('owner', keys));
    const waiting = found.filter(({ value, due }) => value.phase === 'current' && due > clock.now());
    await tasks.write(waiting.map(({ key, due, value, version }) => put('owner', key, getTime(due), value, version)));
  }

  return {
    /** Returns when an owner is read next. @param newest - Creation of its newest order, in milliseconds since 1970. */
    async next(newest = 0): Promise<number> {
      const now = clock.now();
      const turn = now + Math.max(SHORTEST, third * (await tasks.count('owner')));
      return newest + ACTIVE > now ? claimActive(now + SHORTEST, turn) : turn;
    },
    /** Reads the first owners at once: they may have posted orders while this process was down. */
    begin: () => advance(undefined, () => clock.now()),
    /** Reads owners that a chain event concerns. */
    concern: (owners: readonly string[]) => advance(owners, (due) => claimConcerned(clock.now(), due)),
  };
}

/** Creates a lane of evenly spaced times. A claim returns the next one, or `latest` if the next one is not earlier. */
function createLane(spacing: number) {
  let last = 0;
  return (earliest: number, latest: number): number => {
    const next = Math.ceil(Math.max(earliest, last + spacing));
    if (next >= latest) return latest;
    last = next;
    return next;
  };
}
