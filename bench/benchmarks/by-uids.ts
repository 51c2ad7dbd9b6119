import type { Hex } from 'intentbook';
import type { CreateBenchmark, Measure, Round, Subject } from '../benchmark.ts';
import { divideTimes, getSample, measureTime } from '../benchmark.ts';
import { checkRows, createBodyCheck, expectCount } from '../checks.ts';
import { createByUidsRequest, createUidPicker, encodeRows, openApi, openBareDatabase, requestBytes } from '../stats.ts';

const UIDS = 128;
/** Number of orders that the cached benchmark reads. Their texts fit in the cache. */
const CACHED = 4096;

/** Reads 128 orders by UID, from the bytes of the request to the bytes of the response. */
export const benchmark: CreateBenchmark = ({ tiny, orders }) => {
  const repetitions = tiny ? 1 : 40;
  const [smallest = 0] = orders;
  const largest = orders.at(-1) ?? 0;

  /** Returns options of a measurement: requests for these orders, and the check of their responses. */
  const createRequests = (pick: () => Hex[]) => {
    const checkBody = createBodyCheck();
    return {
      repetitions,
      prepare() {
        const uids = pick();
        return { uids, request: createByUidsRequest(uids) };
      },
      check: (body: Uint8Array, { uids }: { readonly uids: readonly Hex[] }) => checkBody(body, uids),
    };
  };

  const uncached = (count: number) => async (): Promise<Subject> => {
    const { api, close } = await openApi(count, 'cold', 0);
    const pick = createUidPicker(count, UIDS);
    return { round: () => measureTime(1, ({ request }) => requestBytes(api, request), createRequests(pick)), close };
  };

  const cached = async (): Promise<Subject> => {
    const { api, close } = await openApi(largest, 'hot');
    const pick = createUidPicker(largest, UIDS, Math.min(CACHED, largest));
    for (let i = 0; i < (tiny ? 1 : 200); i++) await requestBytes(api, createByUidsRequest(pick()));
    return { round: () => measureTime(1, ({ request }) => requestBytes(api, request), createRequests(pick)), close };
  };

  /** The least work of a cached response: parses the list, finds finished elements in a map, and copies them once. */
  const bareMap = async (): Promise<Subject> => {
    const among = Math.min(CACHED, largest);
    const { api, close } = await openApi(largest, 'map');
    const elements = new Map<string, Buffer>();
    const checkBody = createBodyCheck();
    let size = 0;
    for (const uid of createUidPicker(largest, among, among)()) {
      const body = await requestBytes(api, createByUidsRequest([uid]));
      checkBody(body, [uid]);
      const [element] = JSON.parse(Buffer.from(body).toString());
      const text = Buffer.from(`${JSON.stringify(element)},`);
      size = text.length; // the same for each
      elements.set(uid, text);
    }
    await close();
    const pick = createUidPicker(largest, UIDS, among);
    const prepare = () => Buffer.from(JSON.stringify(pick()));
    const respond = (request: Buffer) => {
      const uids = JSON.parse(request.toString()) as string[]; // the list that was prepared
      return Buffer.concat(uids.map((uid) => elements.get(uid) ?? Buffer.alloc(0)));
    };
    const expectLength = expectCount(Math.min(UIDS, among) * size);
    const check = (body: Buffer) => expectLength(body.length);
    return { round: () => measureTime(1, respond, { repetitions, prepare, check }) };
  };

  const statement = (count: number) => async (): Promise<Subject> => {
    const { database, select } = await openBareDatabase(count, 'cold');
    const pick = createUidPicker(count, UIDS, count, 3);
    const query = select(Math.min(UIDS, count));
    const prepare = () => {
      const uids = pick();
      return { uids, keys: uids.map((uid) => Buffer.from(uid.slice(2), 'hex')) };
    };
    return {
      round: () =>
        measureTime(1, ({ keys }) => query.all(...keys), {
          repetitions,
          prepare,
          check: (rows, { uids }) => checkRows(rows, uids),
        }),
      async close() {
        database.close();
      },
    };
  };

  /** The least work of an uncached response: parses the list, and reads, verifies and encodes the rows. */
  const encodedStatement = async (): Promise<Subject> => {
    const { database, select } = await openBareDatabase(largest, 'cold');
    const pick = createUidPicker(largest, UIDS, largest, 2);
    const query = select(Math.min(UIDS, largest));
    const prepare = () => {
      const uids = pick();
      return { uids, request: Buffer.from(JSON.stringify(uids)) };
    };
    const checkBody = createBodyCheck();
    const respond = ({ request }: ReturnType<typeof prepare>) => {
      const uids = JSON.parse(request.toString()) as string[]; // the list that was prepared
      const rows = query.all(...uids.map((uid) => Buffer.from(uid.slice(2), 'hex')));
      return encodeRows(rows);
    };
    return {
      round: () => measureTime(1, respond, { repetitions, prepare, check: (body, { uids }) => checkBody(body, uids) }),
      async close() {
        database.close();
      },
    };
  };

  const growth = (count: number): Measure => ({
    title: `uncached, ${formatCount(smallest)} → ${formatCount(count)} orders: growth ÷ growth of the SQL statement`,
    target: { atMost: 1.2 },
    compute: (round) =>
      computeGrowth(round, `uncached, ${formatCount(smallest)}`, `uncached, ${formatCount(count)}`) /
      computeGrowth(round, `SQL statement, ${formatCount(smallest)}`, `SQL statement, ${formatCount(count)}`),
  });

  return {
    title: `by_uids of ${UIDS} orders, including the response body`,
    subjects: Object.fromEntries([
      ...orders.map((count) => [`uncached, ${formatCount(count)}`, uncached(count)] as const),
      ...orders.map((count) => [`SQL statement, ${formatCount(count)}`, statement(count)] as const),
      ['SQL statement, checksums and encoding', encodedStatement],
      [`cached, ${formatCount(largest)}`, cached],
      ['JSON.parse, a map and a copy', bareMap],
    ]),
    measures: [
      {
        title: `uncached, ${formatCount(largest)} orders ÷ SQL statement`,
        compute: divideTimes(`uncached, ${formatCount(largest)}`, `SQL statement, ${formatCount(largest)}`),
        target: { atMost: 1.2 },
        reason:
          'The SELECT only returns values. The package also parses the list, compares rows with their checksums, derives ' +
          'statuses and encodes 150 kB: compare `SQL statement, checksums and encoding`.',
      },
      {
        title: `uncached, ${formatCount(largest)} orders ÷ SQL statement, checksums and encoding`,
        compute: divideTimes(`uncached, ${formatCount(largest)}`, 'SQL statement, checksums and encoding'),
      },
      {
        title: 'cached ÷ uncached',
        compute: divideTimes(`cached, ${formatCount(largest)}`, `uncached, ${formatCount(largest)}`),
        target: { atMost: 0.25 },
      },
      {
        title: 'cached ÷ JSON.parse, a map and a copy',
        compute: divideTimes(`cached, ${formatCount(largest)}`, 'JSON.parse, a map and a copy'),
        target: { atMost: 1.3 },
      },
      ...orders.slice(1).map(growth),
    ],
  };
};

function computeGrowth(round: Round, from: string, to: string): number {
  return getSample(round, to).time / getSample(round, from).time;
}

/** Formats a count: `10k`, `1M`. */
function formatCount(count: number): string {
  if (count >= 1_000_000) return `${count / 1_000_000}M`;
  return count >= 1000 ? `${count / 1000}k` : String(count);
}
