import { createDialectSuite } from '../../../integration/stores/postgres-dialect.ts';
import { createRestrictedDatabase } from '../../../support/postgres-dialect.ts';
import type { LongSuite } from '../suite.ts';

/** The conformance suite on PostgreSQL without features that compatible databases lack. */
export const suite: LongSuite = {
  description: 'conformance of the PostgreSQL store without advisory locks, notifications, savepoints and more',
  async run(share) {
    const end = Date.now() + share.milliseconds;
    await using database = await createRestrictedDatabase();
    for (let round = 0; round === 0 || Date.now() < end; round++) {
      await using dialect = await createDialectSuite(database, share.seed + round);
      for (const { group, name, skip, run } of dialect.cases) {
        if (skip !== undefined) continue;
        await run().catch((cause) => {
          throw new Error(`${group}: ${name}, seed ${share.seed + round}`, { cause });
        });
        share.count('cases');
      }
      const { denied, injected, attempts } = dialect.counts;
      if (denied.length > 0) throw new Error(`the store uses ${denied[0]}`);
      share.count('serialization failures', injected);
      share.count('attempts', attempts);
    }
  },
};
