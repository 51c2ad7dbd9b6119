import { buildVictim, sqliteGrave } from '../../faults/crash-points.ts';

import { crashFor } from '../crashes.ts';
import type { LongSuite } from '../suite.ts';

export const suite: LongSuite = {
  says: 'a process killed at any statement leaves SQLite with all that it has acknowledged, and whole deeds',
  async run(share) {
    using victim = await buildVictim();

    await crashFor(share, victim, async () => sqliteGrave());
  },
};
