import { buildCrashChild, sqliteGrave } from '../../faults/crash-points.ts';

import { crashFor } from '../crashes.ts';
import type { LongSuite } from '../suite.ts';

export const suite: LongSuite = {
  description: 'process killed at any statement leaves SQLite with all acknowledged orders and no partial write',
  async run(share) {
    using crashChild = await buildCrashChild();

    await crashFor(share, crashChild, async () => sqliteGrave());
  },
};
