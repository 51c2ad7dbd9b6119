import type { AccountStoreHarness, ConformanceCase, StoreHarness } from 'intentbook/testing';
import { accountStoreConformance, storeConformance } from 'intentbook/testing';
import { describe, test } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** Reason why a test was skipped, for the summary of `npm test`. */
    skipped?: string;
  }
}

/**
 * Runs the published store suite with vitest. A skipped case prints its reason.
 *
 * @param groups - The groups to run, for a store that differs from another one in a few operations only. All of them
 * run at full length. Default: all.
 */
export function describeConformance(name: string, harness: StoreHarness, groups?: readonly string[]): void {
  const isLong = process.env['TEST_LONG'] !== undefined;
  const cases = storeConformance(harness);
  runAll(name, groups === undefined || isLong ? cases : cases.filter(({ group }) => groups.includes(group)));
}

/** Runs the published account store suite. */
export function describeAccountConformance(name: string, harness: AccountStoreHarness): void {
  runAll(name, accountStoreConformance(harness));
}

function runAll(name: string, cases: readonly ConformanceCase[]): void {
  describe(name, () => {
    for (const { group, name, skip, run } of cases) {
      test(`${group}: ${name}`, async (context) => {
        if (skip !== undefined) {
          context.task.meta.skipped = skip;
          context.skip(skip);
        }
        await run();
      });
    }
  });
}
