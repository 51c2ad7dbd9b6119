import fc from 'fast-check';
import type { LongShare } from './suite.ts';

/** Runs random cases of a property until the time is over and counts them. Throws with the smallest failing case. */
export async function playFor<T>(
  { milliseconds, seed, count }: LongShare,
  arbitrary: fc.Arbitrary<T>,
  play: (value: T) => Promise<void>,
): Promise<void> {
  const property = fc.asyncProperty(arbitrary, async (value) => {
    await play(value);
    count('sequences');
  });
  await fc.assert(property, { seed, numRuns: 2 ** 31 - 1, interruptAfterTimeLimit: milliseconds });
}
