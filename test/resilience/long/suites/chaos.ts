import type { ChaosPlan, ChaosStep } from '../../chaos/chaos.ts';
import { faultsOf, findChaosObstacle, runChaos } from '../../chaos/chaos.ts';
import type { LongSuite } from '../suite.ts';

/** Maximum time until the server serves again, in milliseconds. */
const MAX_RECOVERY = 10_000;
/** Time of the largest step, in milliseconds: no step begins later. */
const STEP_TIME = 40_000;

export const suite: LongSuite = {
  description:
    'a supervised server with 12 books shows each fault of its resources, and recovers from all, also in pairs',
  async run(share) {
    const obstacle = findChaosObstacle();
    if (obstacle !== undefined) return share.note('skipped', obstacle);
    const begin = Date.now();
    const problems: string[] = [];
    for (const [i, store] of (['SQLite', 'PostgreSQL'] as const).entries()) {
      const end = begin + ((i + 1) * share.milliseconds) / 2 - STEP_TIME;
      for (const result of await runChaos({ store, steps: drawSteps(store, share.seed, end) }, share)) {
        const { name, visible, recovery } = result;
        const figures = [visible, recovery].map((ms) => `${(ms / 1000).toFixed(1)} s`);
        share.note(`${store}: ${name}`, `visible after ${figures[0]}, recovered ${figures[1]} after its end`);
        problems.push(...result.problems.map((problem) => `${store}: ${name}: ${problem}`));
        if (recovery > MAX_RECOVERY) problems.push(`${store}: ${name}: recovered after ${figures[1]}`);
      }
    }
    share.count('findings', problems.length);
    if (problems.length > 0) throw new Error(problems.join('\n'));
  },
};

/** Yields each fault alone until it is visible, in an order that the seed selects, and then drawn ones and pairs. */
function* drawSteps(store: ChaosPlan['store'], seed: number, end: number): Generator<ChaosStep> {
  let state = seed;
  const draw = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const faults = [...faultsOf(store)];
  const take = (from: typeof faults) => from.splice(draw(from.length), 1);
  const left = [...faults];
  while (Date.now() < end) {
    if (left.length > 0) yield { faults: take(left), lasts: true };
    else {
      const [first] = take([...faults]);
      // Two faults of one resource may exclude each other.
      const rest = faults.filter(({ name }) => name.split(':')[0] !== first?.name.split(':')[0]);
      const drawn = [...(first === undefined ? [] : [first]), ...(draw(3) === 0 ? [] : take(rest))];
      yield { faults: drawn, lasts: draw(4) === 0 };
    }
  }
}
