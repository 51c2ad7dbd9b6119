import { readdirSync } from 'node:fs';
import type { Scenario } from './scenario.ts';

/** Names of all scenarios: the files of the folder. */
export const SCENARIOS: readonly string[] = readdirSync(new URL('..', import.meta.url))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => file.slice(0, -'.ts'.length))
  .sort();

/** Loads a scenario by its name. */
export async function loadScenario(name: string): Promise<Scenario> {
  const { scenario } = (await import(`../${name}.ts`)) as { scenario: Scenario };
  return scenario;
}
