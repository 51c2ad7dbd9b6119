import type { MakeTrial, Subject } from '../benchmark.ts';
import { timed, times } from '../benchmark.ts';
import { answerOf, bareDatabase, getRequest, openApi, uidPicker } from '../stats.ts';

/** How many orders are asked for again and again where reads are hot. */
const HOT = 4096;

/** One order by its UID, to the bytes of the response. */
export const trial: MakeTrial = ({ tiny, orders }) => {
  const [size, pieces] = tiny ? [4, 1] : [32, 40];
  const largest = orders.at(-1) ?? 0;

  const reading = (lane: string, among: number, cacheBytes?: number) => async (): Promise<Subject> => {
    const { api, close } = await openApi(largest, lane, cacheBytes);
    const pick = uidPicker(largest, size, Math.min(among, largest));
    const next = () => pick().map((uid) => getRequest(`/api/v1/orders/${uid}`));
    const all = async (requests: ReturnType<typeof next>) => {
      for (const request of requests) await answerOf(api, request);
    };
    for (let i = 0; i < (tiny || cacheBytes === 0 ? 1 : 1000); i++) await all(next());
    return { round: () => timed(size, all, { pieces, prepare: next }), close };
  };

  return {
    title: `GET of one order of ${largest}, to the bytes of the response`,
    subjects: {
      cold: reading('cold', largest, 0),
      hot: reading('hot', HOT),
      'bare SELECT': async () => {
        const { database, select } = await bareDatabase(largest);
        const statement = select(1);
        const pick = uidPicker(largest, size);
        return {
          round: () =>
            timed(
              size,
              (uids: Buffer[]) => {
                for (const uid of uids) statement.all(uid);
              },
              { pieces, prepare: () => pick().map((uid) => Buffer.from(uid.slice(2), 'hex')) },
            ),
          async close() {
            database.close();
          },
        };
      },
    },
    measures: [
      { title: 'cold ÷ the bare SELECT', of: times('cold', 'bare SELECT') },
      { title: 'hot ÷ cold', of: times('hot', 'cold') },
    ],
  };
};
