import { readdirSync } from 'node:fs';
import type { Benchmark, CreateBenchmark, Scale } from './benchmark.ts';

const FOLDER = new URL('./benchmarks/', import.meta.url);

/** Lists the names of all benchmarks, one for each file. */
export function listBenchmarks(): string[] {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.js'));
  return files.map((file) => file.slice(0, -'.js'.length));
}

export async function loadBenchmark(name: string, scale: Scale): Promise<Benchmark> {
  const file = new URL(`${name}.js`, FOLDER).href;
  const { benchmark } = (await import(file)) as { benchmark: CreateBenchmark }; // exported by every file
  return benchmark(scale);
}
