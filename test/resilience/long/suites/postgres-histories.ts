import { createSeededRandom } from '../../../simulation/machine/random.ts';
import { startCluster } from '../../histories/cluster.ts';
import { checkHistories } from '../../histories/record.ts';
import type { LongSuite } from '../suite.ts';

/**
 * Short histories of concurrent clients of several servers on one PostgreSQL. Servers and sessions are stopped and
 * killed, and proxies between servers and database delay, cut and split. Each history must be linearizable.
 */
export const suite: LongSuite = {
  description: 'histories of servers on PostgreSQL are linearizable during faults',
  async run(share) {
    const end = Date.now() + share.milliseconds;
    await using cluster = await startCluster();
    const random = createSeededRandom(String(share.seed)).fraction;
    const totals = await checkHistories(cluster, random, { time: end }, (fault) => share.count(fault));
    for (const [name, number] of Object.entries(totals)) share.count(name, number);
  },
};
