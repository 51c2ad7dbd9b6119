import { findContainerObstacle, runContainers, TAKEOVERS } from '../../containers/containers.ts';
import type { LongSuite } from '../suite.ts';

/** Rounds that run concurrently: most of their time is that of a lease. */
const CONCURRENT = 16;

/** Maximum duration of a round, in milliseconds. */
const ROUND_TIME = 60_000;

export const suite: LongSuite = {
  description: 'two containers on an SQLite file: one writer at a time, and no acknowledged order is lost',
  async run({ milliseconds, seed, count, note }) {
    const obstacle = findContainerObstacle();
    if (obstacle !== undefined) return note('containers', `skipped: ${obstacle}`);
    const end = performance.now() + Math.max(0, milliseconds - ROUND_TIME);
    let next = 0;
    const found: string[] = [];
    async function work(): Promise<void> {
      do {
        const round = next++;
        const takeover = TAKEOVERS[round % TAKEOVERS.length] ?? 'crash';
        const { isLocked, acknowledged, problems } = await runContainers(takeover, 5 + ((seed + 7 * round) % 40));
        found.push(...problems.map((problem) => `${takeover} ${round}: ${problem}`));
        count(`rounds of ${takeover}`);
        if (isLocked) count('pauses within a write');
        count('acknowledged orders', acknowledged);
      } while (performance.now() < end);
    }
    await Promise.all(Array.from({ length: CONCURRENT }, work));
    count('findings', found.length);
    if (found.length > 0) throw new Error(found.join('\n'));
  },
};
