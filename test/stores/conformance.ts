import type { StoreHarness } from 'intentbook/testing';
import { storeConformance } from 'intentbook/testing';
import { describe, test } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** Why a test was skipped, for the sum that `npm test` prints. */
    skipped?: string;
  }
}

/** Runs the published suite under vitest. A skipped case prints why. */
export function describeConformance(name: string, harness: StoreHarness): void {
  describe(name, () => {
    for (const { group, name, skip, run } of storeConformance(harness)) {
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
