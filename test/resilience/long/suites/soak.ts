import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { soak } from '../../soak/soak.ts';
import type { LongSuite } from '../suite.ts';

/** Share of the time for measurement, startup and the final read. */
const OVERHEAD = 30_000;

export const suite: LongSuite = {
  description:
    'server at 70 % of the measured limit with restarts returns no wrong response, and its memory stays constant',
  async run({ seed, folder, milliseconds, count, note }) {
    const path = join(folder, 'book.sqlite');
    for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
    const load = Math.max(10_000, milliseconds - OVERHEAD);
    const report = await soak({ seed, path, measure: 5000, milliseconds: load, restarts: 4 });
    count('requests', report.requests);
    count('orders', report.orders);
    count('broken by restarts', report.broken);
    count('wrong answers', report.wrong.length);
    note('limit', report.limit);
    note('rate', report.rate);
    note('memory MiB', report.memory.mib);
    note('memory MiB a minute', report.memory.mibPerMinute);
    for (const [kind, { p50, p99, p999 }] of Object.entries(report.latencies))
      note(`${kind} ms`, `${p50}/${p99}/${p999}`);
    if (report.wrong.length > 0) throw new Error(report.wrong.join('\n'));
  },
};
