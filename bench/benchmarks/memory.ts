import type { CreateBenchmark } from '../benchmark.ts';
import { measureTime, readMeasured } from '../benchmark.ts';
import { collectGarbage } from '../gc.ts';
import { createByUidsRequest, createUidPicker, openApi, requestBytes } from '../stats.ts';

/** Orders that are read in all rounds together. */
const READS = 1_000_000;
const ROUNDS = 5;

/** Memory of a process that reads random orders of a large book, with the default cache. */
export const benchmark: CreateBenchmark = ({ tiny, orders }) => ({
  title: 'resident memory after reads',
  rounds: ROUNDS,
  subjects: {
    async 'by_uids of 128'() {
      const count = orders.at(-1) ?? 0;
      const { api, close } = await openApi(count, 'cold');
      const pick = createUidPicker(count, 128);
      const requests = tiny ? 2 : Math.ceil(READS / ROUNDS / 128);
      return {
        note: `${count} orders, SQLite`,
        async round() {
          const sample = await measureTime(requests, async () => {
            for (let i = 0; i < requests; i++) await requestBytes(api, createByUidsRequest(pick()));
          });
          collectGarbage();
          const { rss, heapUsed } = process.memoryUsage();
          return { ...sample, 'resident MB': rss / 1e6, 'heap MB': heapUsed / 1e6 };
        },
        close,
      };
    },
  },
  measures: [
    {
      title: 'resident memory after 10^6 reads of 10^6 orders',
      compute: readMeasured('by_uids of 128', 'resident MB'),
      unit: ' MB',
      limit: { atMost: 250 },
      reason:
        'Node.js and the code take 75 MB, the page cache of SQLite 80 MB. The heap has 85 MB in use, with orders that ' +
        'the cache has evicted and V8 has not collected yet, and V8 keeps 50 MB for new objects.',
    },
  ],
});
