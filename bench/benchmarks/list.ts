import type { OrderQuery } from 'intentbook';
import { listingSql } from '../../adapters/sqlite/listing.ts';
import type { MakeTrial, Sample, Subject } from '../benchmark.ts';
import { sampleOf, timed, told } from '../benchmark.ts';
import { createdAt, ownerOf, tokenOf, uidOf } from '../files.ts';
import { answerOf, bareDatabase, getRequest, openApi } from '../stats.ts';

const LIMIT = 100;

/** Pages of a listing, from its top, from deep within, and of one owner. */
export const trial: MakeTrial = ({ tiny, orders }) => {
  const pieces = tiny ? 1 : 20;
  const count = orders.at(-1) ?? 0;
  const deep = { creationDate: createdAt(Math.floor(count / 10)), uid: uidOf(Math.floor(count / 10)) };
  const cursor = `${deep.creationDate}-${deep.uid}`;
  const limit = LIMIT + 1; // one more tells whether there is another page
  const now = Math.floor(Date.now() / 1000);

  /** Each page as it is asked for, and as the store is. */
  const pages: Readonly<Record<string, { path: string; query: string; asked: OrderQuery }>> = {
    time: { path: '/api/v1/orders', query: `limit=${LIMIT}`, asked: { limit } },
    deep: { path: '/api/v1/orders', query: `limit=${LIMIT}&cursor=${cursor}`, asked: { limit, after: deep } },
    token: {
      path: '/api/v1/orders',
      query: `limit=${LIMIT}&status=open&sellToken=${tokenOf(3)}`,
      asked: { limit, sellToken: tokenOf(3), status: { is: 'open', now } },
    },
    owner: {
      path: `/api/v1/account/${ownerOf(5)}/orders`,
      query: `limit=${LIMIT}`,
      asked: { limit, owner: ownerOf(5), offset: 0 },
    },
  };

  async function measured(work: (page: string) => unknown): Promise<Sample> {
    const samples: Record<string, number> = {};
    for (const page of Object.keys(pages)) samples[page] = (await timed(1, () => work(page), { pieces })).time;
    return { time: 0, ...samples };
  }

  return {
    title: `a page of ${LIMIT} orders of ${count}, to the bytes of the response`,
    subjects: {
      intentbook: async (): Promise<Subject> => {
        const { api, close } = await openApi(count, 'cold', 0);
        const requests = Object.entries(pages).map(
          ([page, { path, query }]) => [page, getRequest(path, query)] as const,
        );
        const byPage = new Map(requests);
        return {
          round: () => measured((page) => answerOf(api, byPage.get(page) ?? getRequest('/'))),
          close,
        };
      },
      'bare SELECT': async () => {
        const { database } = await bareDatabase(count);
        const statements = Object.entries(pages).map(([page, { asked }]) => {
          const { sql, parameters } = listingSql('', asked);
          return [
            page,
            () =>
              database
                .prepare(sql)
                .raw()
                .all(...parameters),
          ] as const;
        });
        const byPage = new Map(statements);
        return {
          round: () => measured((page) => byPage.get(page)?.()),
          async close() {
            database.close();
          },
        };
      },
    },
    measures: [
      ...Object.entries({ newest: 'time', deep: 'deep', 'one token': 'token', 'one owner': 'owner' }).map(
        ([title, page]) => ({
          title: `${title} ÷ the bare SELECT`,
          of: (round: Parameters<ReturnType<typeof told>>[0]) =>
            told('intentbook', page)(round) / told('bare SELECT', page)(round),
        }),
      ),
      {
        title: 'a page after nine tenths of all orders ÷ the first one',
        of: (round) => told('intentbook', 'deep')(round) / sampleOf(round, 'intentbook').time,
      },
    ],
  };
};
