import type { SimulateOptions, SimulationResult } from './simulate.ts';
import { simulate } from './simulate.ts';

/** A violation with as few actions as possible. */
export interface ShrunkSimulation {
  /** The ids of the actions that remain: `only` of a simulation that replays the violation. */
  readonly only: readonly number[];
  /** The last run, with its trace. */
  readonly result: SimulationResult;
  /** Number of simulations that were run. */
  readonly runs: number;
}

/** Maximum number of simulations. */
const MAX_RUNS = 250;

/**
 * Removes actions from the plan of a simulation while it still breaks the same invariant (delta debugging).
 *
 * @param options - Options of a simulation with a violation.
 * @returns `undefined` if the simulation has no violation.
 */
export async function shrink(options: SimulateOptions): Promise<ShrunkSimulation | undefined> {
  const first = await simulate(options);
  const invariant = first.violation?.invariant;
  if (invariant === undefined) return undefined;
  let runs = 1;
  let kept = first.plan.map(({ id }) => id);

  async function fails(only: readonly number[]): Promise<boolean> {
    runs++;
    return (await simulate({ ...options, only, trace: false })).violation?.invariant === invariant;
  }

  for (let size = Math.ceil(kept.length / 2); size >= 1 && runs < MAX_RUNS; ) {
    let hasRemoved = false;
    for (let start = 0; start < kept.length && runs < MAX_RUNS; ) {
      const candidate = [...kept.slice(0, start), ...kept.slice(start + size)];
      if (await fails(candidate)) {
        kept = candidate;
        hasRemoved = true;
      } else start += size;
    }
    if (size === 1 && !hasRemoved) break;
    size = size === 1 ? 1 : Math.ceil(size / 2);
  }
  return { only: kept, result: await simulate({ ...options, only: kept, trace: true }), runs: runs + 1 };
}
