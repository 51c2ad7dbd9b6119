import type { CreateBenchmark, Measure, Subject } from '../benchmark.ts';
import { measureTime, readMeasured } from '../benchmark.ts';
import { createBodyCheck, expectCount } from '../checks.ts';
import { collectAllGarbage, collectGarbage } from '../gc.ts';
import { createByUidsRequest, createUidPicker, openApi, requestBytes } from '../stats.ts';

/** Orders that are read in all rounds together. */
const READS = 1_000_000;
const ROUNDS = 5;

/** Memory of a process that reads random orders of a large book. */
export const benchmark: CreateBenchmark = ({ tiny, orders }) => {
  const count = orders.at(-1) ?? 0;

  /** Creates a subject with its own file. @param collect - Collects garbage before the memory is measured. */
  const read = (lane: string, collect: () => void, cacheBytes?: number) => async (): Promise<Subject> => {
    const { api, close } = await openApi(count, lane, cacheBytes);
    const atStart = process.memoryUsage().rss;
    const pick = createUidPicker(count, 128);
    const uids = pick();
    const body = await requestBytes(api, createByUidsRequest(uids));
    createBodyCheck()(body, uids);
    const { length } = body;
    const requests = tiny ? 2 : Math.ceil(READS / ROUNDS / 128);
    return {
      note: `${count} orders, SQLite`,
      async round() {
        const readAll = async () => {
          let bytes = 0;
          for (let i = 0; i < requests; i++) bytes += (await requestBytes(api, createByUidsRequest(pick()))).length;
          return bytes;
        };
        const sample = await measureTime(requests, readAll, { check: expectCount(requests * length) });
        collect();
        const { rss, heapUsed } = process.memoryUsage();
        return { ...sample, 'MB at start': atStart / 1e6, 'resident MB': rss / 1e6, 'heap MB': heapUsed / 1e6 };
      },
      close,
    };
  };

  const megabytes = (title: string, subject: string, measured: string): Measure => ({
    title,
    compute: readMeasured(subject, measured),
    unit: ' MB',
  });

  return {
    title: 'resident memory after reads',
    rounds: ROUNDS,
    subjects: {
      'by_uids of 128': read('cold', collectGarbage),
      'all garbage collected': read('collected', collectAllGarbage),
      'without cache of orders': read('uncached', collectGarbage, 0),
    },
    measures: [
      {
        ...megabytes('resident memory after 10^6 reads of 10^6 orders', 'by_uids of 128', 'resident MB'),
        target: { atMost: 250 },
        reason:
          'The heap contains orders that the cache has evicted until V8 collects them: ' +
          'compare `the same, all garbage collected`.',
      },
      megabytes('the same, heap in use', 'by_uids of 128', 'heap MB'),
      megabytes('the same, all garbage collected', 'all garbage collected', 'resident MB'),
      megabytes('the same, heap in use, all garbage collected', 'all garbage collected', 'heap MB'),
      megabytes('the same, without a cache of orders', 'without cache of orders', 'resident MB'),
      megabytes('resident memory before the reads', 'by_uids of 128', 'MB at start'),
    ],
  };
};
