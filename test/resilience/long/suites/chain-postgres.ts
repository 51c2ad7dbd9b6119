import { postgresStore } from 'intentbook/postgres';
import { agrees, sequence } from '../../../property/chain-replay.ts';
import { emptySchema, temporarySchema } from '../../../support/postgres.ts';
import { playFor } from '../sequences.ts';
import type { LongSuite } from '../suite.ts';

export const suite: LongSuite = {
  description: 'PostgreSQL store with reorganisations equals a store with the canonical chain only',
  async run(share) {
    await using place = await temporarySchema();
    const { url, schema } = place;
    await playFor(share, sequence, async (steps) => {
      try {
        await agrees(steps, postgresStore({ url, schema, migrate: true, connections: 2 }));
      } finally {
        await emptySchema(place);
      }
    });
  },
};
