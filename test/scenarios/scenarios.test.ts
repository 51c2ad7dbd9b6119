import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { loadScenario, SCENARIOS } from './support/list.ts';
import type { World } from './support/world.ts';
import { createWorld } from './support/world.ts';

/** Names of scenarios, separated by commas, or `all`. Default: the fast ones. */
const SELECTED = process.env['TEST_SCENARIOS'];

const scenarios = await Promise.all(SCENARIOS.map(async (name) => ({ name, ...(await loadScenario(name)) })));
const chosen = scenarios.filter(({ name, isFast = false }) =>
  SELECTED === undefined ? isFast : SELECTED === 'all' || SELECTED.split(',').includes(name),
);
/** `npm test` runs three of the fast ones. */
const selected = process.env['TEST_QUICK'] === undefined ? chosen : chosen.slice(0, 3);

describe('scenarios', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld();
  });
  afterEach(() => world.reset());
  afterAll(() => world.close());

  it.each(selected)('$name: $shows', ({ run }) => run(world));
});
