import { readdirSync } from 'node:fs';
import type { MakeTrial, Scale, Trial } from './benchmark.ts';

const FOLDER = new URL('./benchmarks/', import.meta.url);

/** The names of all trials: there is a file of that name for each. */
export function trialNames(): string[] {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.js'));
  return files.map((file) => file.slice(0, -'.js'.length));
}

export async function loadTrial(name: string, scale: Scale): Promise<Trial> {
  const file = new URL(`${name}.js`, FOLDER).href;
  const { trial } = (await import(file)) as { trial: MakeTrial }; // what every file there exports
  return trial(scale);
}
