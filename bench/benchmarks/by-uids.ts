import type { MakeTrial, Measure, Round, Subject } from '../benchmark.ts';
import { sampleOf, timed, times } from '../benchmark.ts';
import { answerOf, bareDatabase, byUidsRequest, openApi, uidPicker } from '../stats.ts';

const UIDS = 128;
/** How many orders are asked for again and again where reads are hot. Their texts fit into the cache. */
const HOT = 4096;

/** 128 orders by their UIDs, from the request's bytes to the response's. */
export const trial: MakeTrial = ({ tiny, orders }) => {
  const pieces = tiny ? 1 : 40;
  const [smallest = 0] = orders;
  const largest = orders.at(-1) ?? 0;

  const cold = (count: number) => async (): Promise<Subject> => {
    const { api, close } = await openApi(count, 'cold', 0);
    const pick = uidPicker(count, UIDS);
    const prepare = () => byUidsRequest(pick());
    return { round: () => timed(1, (request) => answerOf(api, request), { pieces, prepare }), close };
  };

  const hot = async (): Promise<Subject> => {
    const { api, close } = await openApi(largest, 'hot');
    const pick = uidPicker(largest, UIDS, Math.min(HOT, largest));
    const prepare = () => byUidsRequest(pick());
    for (let i = 0; i < (tiny ? 1 : 200); i++) await answerOf(api, prepare());
    return { round: () => timed(1, (request) => answerOf(api, request), { pieces, prepare }), close };
  };

  const bare = (count: number) => async (): Promise<Subject> => {
    const { database, select } = await bareDatabase(count);
    const pick = uidPicker(count, UIDS);
    const statement = select(Math.min(UIDS, count));
    const prepare = () => pick().map((uid) => Buffer.from(uid.slice(2), 'hex'));
    return {
      round: () => timed(1, (uids) => statement.all(...uids), { pieces, prepare }),
      async close() {
        database.close();
      },
    };
  };

  const growth = (count: number): Measure => ({
    title: `cold, ${shown(smallest)} → ${shown(count)} orders: growth ÷ that of the bare SELECT`,
    bar: { atMost: 1.2 },
    of: (round) =>
      grows(round, `cold, ${shown(smallest)}`, `cold, ${shown(count)}`) /
      grows(round, `bare SELECT, ${shown(smallest)}`, `bare SELECT, ${shown(count)}`),
  });

  return {
    title: `by_uids of ${UIDS} orders, to the bytes of the response`,
    subjects: Object.fromEntries([
      ...orders.map((count) => [`cold, ${shown(count)}`, cold(count)] as const),
      ...orders.map((count) => [`bare SELECT, ${shown(count)}`, bare(count)] as const),
      [`hot, ${shown(largest)}`, hot],
    ]),
    measures: [
      {
        title: `cold of ${shown(largest)} ÷ the bare SELECT`,
        of: times(`cold, ${shown(largest)}`, `bare SELECT, ${shown(largest)}`),
        bar: { atMost: 1.4 },
      },
      { title: 'hot ÷ cold', of: times(`hot, ${shown(largest)}`, `cold, ${shown(largest)}`), bar: { atMost: 0.25 } },
      ...orders.slice(1).map(growth),
    ],
  };
};

function grows(round: Round, from: string, to: string): number {
  return sampleOf(round, to).time / sampleOf(round, from).time;
}

/** `10k`, `1M`. */
function shown(count: number): string {
  if (count >= 1_000_000) return `${count / 1_000_000}M`;
  return count >= 1000 ? `${count / 1000}k` : String(count);
}
