import { loadScenario, SCENARIOS } from '../../../scenarios/support/list.ts';
import { createWorld } from '../../../scenarios/support/world.ts';
import type { LongSuite } from '../suite.ts';

export const suite: LongSuite = {
  description: 'black-box scenarios on a chain with the production contracts, each against a new server',
  async run({ count, note }) {
    const world = await createWorld();
    try {
      for (const name of SCENARIOS) {
        const { run } = await loadScenario(name);
        try {
          await run(world);
        } catch (error) {
          throw new Error(`scenario ${name} does not hold`, { cause: error });
        }
        count('scenarios');
        await world.reset();
      }
      note('last scenario', SCENARIOS.at(-1) ?? '');
    } finally {
      await world.close();
    }
  },
};
