import type { Hex } from 'intentbook';
import type { CreateBenchmark, Subject } from '../benchmark.ts';
import { divideTimes, measureTime } from '../benchmark.ts';
import { checkRows, createBodyCheck, expectCount } from '../checks.ts';
import { createGetRequest, createUidPicker, encodeRows, openApi, openBareDatabase, requestBytes } from '../stats.ts';

/** Number of orders that the cached benchmark reads. */
const CACHED = 4096;

/** Lists that are read first, so that the cache contains these orders and V8 has compiled the code of a read. */
const WARM_UP = 1000;

/** Reads one order by UID, including the response body. */
export const benchmark: CreateBenchmark = ({ tiny, orders }) => {
  const [size, repetitions] = tiny ? [4, 1] : [32, 40];
  const largest = orders.at(-1) ?? 0;

  const read = (lane: string, among: number, cacheBytes?: number) => async (): Promise<Subject> => {
    const { api, close } = await openApi(largest, lane, cacheBytes);
    const pick = createUidPicker(largest, size, Math.min(among, largest));
    const prepare = () => {
      const uids = pick();
      return { uids, requests: uids.map((uid) => createGetRequest(`/api/v1/orders/${uid}`)) };
    };
    const readAll = async ({ requests }: ReturnType<typeof prepare>) => {
      const bodies: Uint8Array[] = [];
      for (const each of requests) bodies.push(await requestBytes(api, each));
      return bodies;
    };
    for (let i = 0; i < (tiny ? 1 : WARM_UP); i++) await readAll(prepare());
    const checkBody = createBodyCheck();
    const check = (bodies: readonly Uint8Array[], { uids }: ReturnType<typeof prepare>) => {
      for (const [i, uid] of uids.entries()) checkBody(bodies[i] ?? Buffer.alloc(0), [uid]);
    };
    return { round: () => measureTime(size, readAll, { repetitions, prepare, check }), close };
  };

  /** Reads rows. @param use - Processes the row of one order. @param checkOne - Checks the result. */
  async function readRows<T>(
    use: (rows: readonly unknown[]) => T,
    checkOne: (result: T, uids: readonly Hex[]) => void,
    seed: number,
  ): Promise<Subject> {
    const { database, select } = await openBareDatabase(largest, 'cold');
    const statement = select(1);
    const pick = createUidPicker(largest, size, largest, seed);
    const prepare = () => {
      const uids = pick();
      return { uids, keys: uids.map((uid) => Buffer.from(uid.slice(2), 'hex')) };
    };
    const readAll = ({ keys }: ReturnType<typeof prepare>) => {
      const results: T[] = [];
      for (const key of keys) results.push(use(statement.all(key)));
      return results;
    };
    const check = (results: readonly T[], { uids }: ReturnType<typeof prepare>) => {
      expectCount(uids.length)(results.length);
      for (const [i, result] of results.entries()) checkOne(result, uids.slice(i, i + 1));
    };
    return {
      round: () => measureTime(size, readAll, { repetitions, prepare, check }),
      async close() {
        database.close();
      },
    };
  }

  return {
    title: `GET of one of ${largest} orders, including the response body`,
    subjects: {
      uncached: read('cold', largest, 0),
      cached: read('hot', CACHED),
      'SQL statement': () => readRows((rows) => rows, checkRows, 3),
      'SQL statement, checksum and encoding': () => readRows(encodeRows, createBodyCheck(), 2),
    },
    measures: [
      {
        title: 'uncached ÷ SQL statement',
        compute: divideTimes('uncached', 'SQL statement'),
        target: { atMost: 1.5 },
        reason:
          'The SELECT only returns values. The package also finds the route, checks the UID and the row, derives the ' +
          'status, joins the headers and encodes the text: compare `SQL statement, checksum and encoding`.',
      },
      {
        title: 'uncached ÷ SQL statement, checksum and encoding',
        compute: divideTimes('uncached', 'SQL statement, checksum and encoding'),
      },
      { title: 'cached ÷ uncached', compute: divideTimes('cached', 'uncached') },
    ],
  };
};
