import { temporarySchema } from '../../../support/postgres.ts';
import { buildVictim, postgresGrave } from '../../faults/crash-points.ts';
import { crashFor } from '../crashes.ts';
import type { LongSuite } from '../suite.ts';

export const suite: LongSuite = {
  says: 'a process killed at any statement leaves PostgreSQL with all that it has acknowledged, and whole deeds',
  async run(share) {
    using victim = await buildVictim();
    await using place = await temporarySchema();
    await crashFor(share, victim, () => postgresGrave(place));
  },
};
