import { live, sequences } from '../../../property/book-commands.ts';
import { postgresStorage } from '../../../property/book-stores.ts';
import { temporarySchema } from '../../../support/postgres.ts';
import { playFor } from '../sequences.ts';
import type { LongSuite } from '../suite.ts';

export const suite: LongSuite = {
  description: 'two books on PostgreSQL match the model after random operations',
  async run(share) {
    await using place = await temporarySchema();
    await playFor(share, sequences, async (commands) => live(commands, postgresStorage(place)));
  },
};
