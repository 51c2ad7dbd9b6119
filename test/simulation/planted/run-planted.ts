import { pathToFileURL } from 'node:url';
import type * as Simulation from '../index.ts';
import { buildPlanted } from './build-planted.ts';
import type { PlantedFault } from './planted.ts';

/** The result of the search for a planted fault. */
export interface PlantedResult {
  /** The first seed that finds it; `undefined` if none does. */
  readonly seed: number | undefined;
  readonly invariant: string | undefined;
  /** The simulator with the fault. */
  readonly simulation: typeof Simulation;
}

/** Returns the bundled simulator, with a fault if there is one. A bundle loads no modules while virtual time passes. */
export async function loadPlanted(fault?: PlantedFault): Promise<typeof Simulation> {
  // The bundle has the exports of the entry point.
  return (await import(pathToFileURL(await buildPlanted(fault)).href)) as typeof Simulation;
}

/** Runs seeds until one finds the fault. */
export async function findPlanted(fault: PlantedFault, maxSeeds: number, firstSeed = 1): Promise<PlantedResult> {
  const simulation = await loadPlanted(fault);
  for (let seed = firstSeed; seed < firstSeed + maxSeeds; seed++) {
    const { violation } = await simulation.simulate({ seed, store: fault.store });
    if (violation !== undefined) return { seed, invariant: violation.invariant, simulation };
  }
  return { seed: undefined, invariant: undefined, simulation };
}
