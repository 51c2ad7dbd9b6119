import { describe, expect, test } from 'vitest';
import { AFTER_ALL, faultsOf, findChaosObstacle, runChaos } from './chaos.ts';

const obstacle = findChaosObstacle();

// The short form of the suite `chaos`: each fault alone until it is visible. Times are not asserted.
describe.skipIf(obstacle !== undefined)(`faults of a server with 12 books${obstacle ?? ''}`, () => {
  test.each(['SQLite', 'PostgreSQL'] as const)(
    'are visible while they last, and end without a loss, on %s',
    { timeout: 1_200_000 },
    async (store) => {
      const notes: string[] = [];
      const steps = faultsOf(store).map((fault) => ({ faults: [fault], lasts: true }));
      const share = {
        count: () => {},
        note: (what: string, figure: string | number) => void notes.push(`${what}: ${figure}`),
      };
      const results = await runChaos({ store, steps }, share);
      expect(results.map(({ name }) => name)).toEqual([...steps.map(({ faults: [fault] }) => fault?.name), AFTER_ALL]);
      const problems = results.flatMap(({ name, problems: found }) => found.map((problem) => `${name}: ${problem}`));
      expect(problems, notes.join('\n')).toEqual([]);
    },
  );
});
