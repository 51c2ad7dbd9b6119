import type { CrashChild, CrashStorage } from '../faults/crash-points.ts';
import { countStatements, crashAt } from '../faults/crash-points.ts';
import type { LongShare } from './suite.ts';

/** Number of points of one script before the next script. */
const POINTS = 12;

/** Kills processes at points spread over scripts until the time is over, and counts the points. */
export async function crashFor(
  { milliseconds, seed, count }: LongShare,
  crashChild: CrashChild,
  dig: () => Promise<CrashStorage>,
): Promise<void> {
  const end = performance.now() + milliseconds;
  for (let script = seed; performance.now() < end; script++) {
    const statements = await countStatements(crashChild, script, await dig());
    count('scripts');
    for (let i = 0; i < POINTS && performance.now() < end; i++) {
      const storage = await dig();
      const when = storage.whens[i % storage.whens.length] ?? 'after';
      // Another point in each script, so that similar scripts crash at different statements.
      const statement = Math.floor((i + ((script * 0.618) % 1)) * (statements / POINTS));
      if (await crashAt(crashChild, storage, { seed: script, statement, when })) count('crash points');
    }
  }
}
