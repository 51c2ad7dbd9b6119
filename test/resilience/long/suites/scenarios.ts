import { loadScenario, SCENARIOS } from '../../../scenarios/support/list.ts';
import { createWorld } from '../../../scenarios/support/world.ts';
import type { LongSuite } from '../suite.ts';

export const suite: LongSuite = {
  description: 'black-box scenarios on a chain with the production contracts, each against a new server',
  async run({ count, note }) {
    const world = await createWorld();
    const failures: Error[] = [];
    try {
      for (const name of SCENARIOS) {
        const { run } = await loadScenario(name);
        try {
          await run(world);
          count('scenarios that hold');
        } catch (error) {
          failures.push(new Error(`scenario ${name} does not hold`, { cause: error }));
        }
        await world.reset();
      }
      note('scenarios', SCENARIOS.length);
      const names = failures.map(({ message }) => message).join(', ');
      if (failures.length > 0) throw new AggregateError(failures, names);
    } finally {
      await world.close();
    }
  },
};
