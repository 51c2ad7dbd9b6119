import type { Hex, OrderQuery } from 'intentbook';
import { listingSql, pageSql } from '../../adapters/sqlite/listing.ts';
import { orderColumns } from '../../adapters/sqlite/rows.ts';
import type { CreateBenchmark, Round, Subject } from '../benchmark.ts';
import { getSample, measureTime, readMeasured } from '../benchmark.ts';
import { checkRows, createBodyCheck } from '../checks.ts';
import { getCreationDate, getOwner, getToken, getUid } from '../files.ts';
import { createGetRequest, encodeRows, openApi, openBareDatabase, requestBytes } from '../stats.ts';

const PAGE_SIZE = 100;

/** Titles of the pages. */
const TITLES = { newest: 'time', deep: 'deep', 'one token': 'token', 'one owner': 'owner' } as const;

interface Page {
  readonly path: string;
  readonly query: string;
  readonly storeQuery: OrderQuery;
  /** Indexes of the orders of this page and of later ones. */
  readonly listed: readonly number[];
}

/** Pages of a listing: the first, one with a deep cursor, and those of one token and one owner. */
export const benchmark: CreateBenchmark = ({ tiny, orders }) => {
  const repetitions = tiny ? 1 : 20;
  const count = orders.at(-1) ?? 0;
  const position = Math.floor(count / 10);
  const deep = { creationDate: getCreationDate(position), uid: getUid(position) };
  const cursor = `${deep.creationDate}-${deep.uid}`;
  const limit = PAGE_SIZE + 1; // the API reads one more order to detect whether there is another page
  const now = Math.floor(Date.now() / 1000);

  /** Indexes of all orders, the newest first. */
  const indexes = Array.from({ length: count }, (_, i) => count - 1 - i);

  /** Pages as HTTP requests and as queries of the store, and the orders that they list. */
  const pages: Readonly<Record<string, Page>> = {
    time: { path: '/api/v1/orders', query: `limit=${PAGE_SIZE}`, storeQuery: { limit }, listed: indexes },
    deep: {
      path: '/api/v1/orders',
      query: `limit=${PAGE_SIZE}&cursor=${cursor}`,
      storeQuery: { limit, after: deep },
      listed: indexes.slice(count - position),
    },
    token: {
      path: '/api/v1/orders',
      query: `limit=${PAGE_SIZE}&status=open&sellToken=${getToken(3)}`,
      storeQuery: { limit, sellToken: getToken(3), status: { is: 'open', now } },
      listed: indexes.filter((i) => getToken(i) === getToken(3)),
    },
    owner: {
      path: `/api/v1/account/${getOwner(5)}/orders`,
      query: `limit=${PAGE_SIZE}`,
      storeQuery: { limit, owner: getOwner(5), offset: 0 },
      listed: indexes.filter((i) => getOwner(i) === getOwner(5)),
    },
  };

  /** Creates a subject that reads each page of `size` orders. @param createCheck - Creates the check of a page. */
  function createSubject<T>(
    work: (page: string) => T | Promise<T>,
    size: number,
    createCheck: () => (result: T, uids: readonly Hex[]) => void,
  ): Subject {
    const checks = Object.entries(pages).map(([page, { listed }]) => {
      const [uids, check] = [listed.slice(0, size).map(getUid), createCheck()];
      return [page, (result: T) => check(result, uids)] as const;
    });
    return {
      async round() {
        const samples: Record<string, number> = {};
        for (const [page, check] of checks)
          samples[page] = (await measureTime(1, () => work(page), { repetitions, check })).time;
        return { time: 0, ...samples };
      },
    };
  }

  /** Reads the rows of pages. @param use - Processes the rows of a page. */
  async function selectPages<T>(
    use: (rows: readonly unknown[]) => T,
    createCheck: () => (result: T, uids: readonly Hex[]) => void,
  ): Promise<Subject> {
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
    const read = (page: string) => {
      const select = byPage.get(page);
      if (select === undefined) throw new Error(`there is no page "${page}"`);
      return select();
    };
    return {
      ...createSubject(read, limit, createCheck),
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
        const read = (page: string) => requestBytes(api, byPage.get(page) ?? createGetRequest('/'));
        return { ...createSubject(read, PAGE_SIZE, createBodyCheck), close };
      },
      'SQL statement': () =>
        selectPages(
          (rows) => rows,
          () => checkRows,
        ),
      'SQL statement, checksums and encoding': () => selectPages(encodeRows, createBodyCheck),
    },
    measures: [
      ...Object.entries(TITLES).map(([title, page]) => ({
        title: `${title} ÷ SQL statement`,
        target: { atMost: page === 'token' ? 1.4 : 1.25 },
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
