import { temporarySchema } from '../../../support/postgres.ts';
import { buildCrashChild, postgresGrave } from '../../faults/crash-points.ts';
import { crashFor } from '../crashes.ts';
import type { LongSuite } from '../suite.ts';

export const suite: LongSuite = {
  description: 'process killed at any statement leaves PostgreSQL with all acknowledged orders and no partial write',
  async run(share) {
    using crashChild = await buildCrashChild();
    await using place = await temporarySchema();
    await crashFor(share, crashChild, () => postgresGrave(place));
  },
};
