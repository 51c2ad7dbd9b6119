import type { OrderQuery } from 'intentbook';
import { listingSql, pageSql } from '../../adapters/sqlite/listing.ts';
import { orderColumns } from '../../adapters/sqlite/rows.ts';
import type { CreateBenchmark, Round, Sample, Subject } from '../benchmark.ts';
import { getSample, measureTime, readMeasured } from '../benchmark.ts';
import { getCreationDate, getOwner, getToken, getUid } from '../files.ts';
import { createGetRequest, encodeRows, openApi, openBareDatabase, requestBytes } from '../stats.ts';

const PAGE_SIZE = 100;

/** Titles of the pages. */
const TITLES = { newest: 'time', deep: 'deep', 'one token': 'token', 'one owner': 'owner' } as const;

/** Pages of a listing: the first, one with a deep cursor, and those of one token and one owner. */
export const benchmark: CreateBenchmark = ({ tiny, orders }) => {
  const repetitions = tiny ? 1 : 20;
  const count = orders.at(-1) ?? 0;
  const position = Math.floor(count / 10);
  const deep = { creationDate: getCreationDate(position), uid: getUid(position) };
  const cursor = `${deep.creationDate}-${deep.uid}`;
  const limit = PAGE_SIZE + 1; // the API reads one more order to detect whether there is another page
  const now = Math.floor(Date.now() / 1000);

  /** Pages as HTTP requests and as queries of the store. */
  const pages: Readonly<Record<string, { path: string; query: string; storeQuery: OrderQuery }>> = {
    time: { path: '/api/v1/orders', query: `limit=${PAGE_SIZE}`, storeQuery: { limit } },
    deep: { path: '/api/v1/orders', query: `limit=${PAGE_SIZE}&cursor=${cursor}`, storeQuery: { limit, after: deep } },
    token: {
      path: '/api/v1/orders',
      query: `limit=${PAGE_SIZE}&status=open&sellToken=${getToken(3)}`,
      storeQuery: { limit, sellToken: getToken(3), status: { is: 'open', now } },
    },
    owner: {
      path: `/api/v1/account/${getOwner(5)}/orders`,
      query: `limit=${PAGE_SIZE}`,
      storeQuery: { limit, owner: getOwner(5), offset: 0 },
    },
  };

  async function measurePages(work: (page: string) => unknown): Promise<Sample> {
    const samples: Record<string, number> = {};
    for (const page of Object.keys(pages))
      samples[page] = (await measureTime(1, () => work(page), { repetitions })).time;
    return { time: 0, ...samples };
  }

  /** Reads the rows of pages. @param use - Processes the rows of a page. */
  async function selectPages(use: (rows: readonly unknown[]) => unknown): Promise<Subject> {
    const { database } = await openBareDatabase(count, 'cold');
    const statements = Object.entries(pages).map(([page, { storeQuery }]) => {
      const ids = listingSql('', storeQuery);
      const sql = `SELECT ${orderColumns('', 'full')} ${pageSql('', ids.sql, false)}`;
      const read = () =>
        database
          .prepare(sql)
          .raw()
          .all(...ids.parameters);
      return [page, () => use(read())] as const;
    });
    const byPage = new Map(statements);
    return {
      round: () => measurePages((page) => byPage.get(page)?.()),
      async close() {
        database.close();
      },
    };
  }

  return {
    title: `page of ${PAGE_SIZE} of ${count} orders, including the response body`,
    subjects: {
      intentbook: async (): Promise<Subject> => {
        const { api, close } = await openApi(count, 'cold', 0);
        const requests = Object.entries(pages).map(
          ([page, { path, query }]) => [page, createGetRequest(path, query)] as const,
        );
        const byPage = new Map(requests);
        return {
          round: () => measurePages((page) => requestBytes(api, byPage.get(page) ?? createGetRequest('/'))),
          close,
        };
      },
      'SQL statement': () => selectPages((rows) => rows),
      'SQL statement, checksums and encoding': () => selectPages(encodeRows),
    },
    measures: [
      ...Object.entries(TITLES).map(([title, page]) => ({
        title: `${title} ÷ SQL statement`,
        target: { atMost: 1.25 },
        reason:
          'The SELECT only returns values. Comparing them with their checksums and encoding 130 kB of text takes most of ' +
          'the difference: compare `SQL statement, checksums and encoding`. A search by token also ' +
          'finds the end of its step, which bounds how long it blocks other requests.',
        compute: (round: Round) => readMeasured('intentbook', page)(round) / readMeasured('SQL statement', page)(round),
      })),
      ...Object.entries(TITLES).map(([title, page]) => ({
        title: `${title} ÷ SQL statement, checksums and encoding`,
        compute: (round: Round) =>
          readMeasured('intentbook', page)(round) / readMeasured('SQL statement, checksums and encoding', page)(round),
      })),
      {
        title: 'page after 90 % of all orders ÷ first page',
        compute: (round) => readMeasured('intentbook', 'deep')(round) / getSample(round, 'intentbook').time,
      },
    ],
  };
};
