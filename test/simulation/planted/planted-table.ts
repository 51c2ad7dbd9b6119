import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { PlantedFault } from './planted.ts';

/** The page with the table of the planted faults. */
export const PAGE = fileURLToPath(new URL('../../../docs/internals/simulation.md', import.meta.url));

export const MARKERS = /(<!-- planted:begin -->\n)[\s\S]*(<!-- planted:end -->)/;

/** Returns the row of a fault in the table. */
export function findRow({ name }: PlantedFault): string | undefined {
  const table = MARKERS.exec(readFileSync(PAGE, 'utf8'))?.[0] ?? '';
  return table.split('\n').find((row) => row.includes(`| ${name} |`));
}

/** Returns the seed that found a fault in the last search, 1 if none did. */
export function getKnownSeed(fault: PlantedFault): number {
  return Number(findRow(fault)?.split('|')[4]) || 1;
}
