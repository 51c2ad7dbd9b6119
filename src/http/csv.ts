import type { ReadOptions } from '../concurrency/abort.ts';
import { nextStep } from '../concurrency/steps.ts';
import { invalidParameter } from '../validation/options.ts';
import { isTypeRequested } from './accept.ts';
import type { AccountCall } from './account-routes/route.ts';
import type { ApiResponse } from './message.ts';
import { queryText } from './query.ts';

/** Whether the format is CSV: by `format`, otherwise by the `Accept` header. */
export function isCsvRequested({ query, request }: AccountCall): boolean {
  const format = queryText(query, 'format');
  if (format === undefined) return isTypeRequested(request, 'text/csv');
  if (format !== 'csv' && format !== 'json') throw invalidParameter('format', 'must be csv or json');
  return format === 'csv';
}

/** The format depends on the `Accept` header. */
export const VARY = { vary: 'accept' };

/** Format of a file with rows. */
export interface CsvFormat<T> {
  readonly header: string;
  toLine(row: T): string;
}

/**
 * Responds with a CSV file of the rows of some pages. The first is read before the response begins: its errors have a
 * status.
 */
export async function streamCsv<T>(
  name: string,
  { header, toLine }: CsvFormat<T>,
  pages: AsyncIterable<readonly T[]>,
  work: ReadOptions,
  headers: Readonly<Record<string, string>> = VARY,
): Promise<ApiResponse> {
  const iterator = pages[Symbol.asyncIterator]();
  const first = await iterator.next();
  async function* lines(): AsyncGenerator<string> {
    try {
      yield header;
      for (let page = first; page.done !== true; page = await iterator.next()) {
        await nextStep(work); // the page was read in another one
        yield page.value.map(toLine).join('');
      }
    } finally {
      await iterator.return?.();
    }
  }
  return {
    status: 200,
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}.csv"`,
      'cache-control': 'no-store',
      ...headers,
    },
    body: lines(),
  };
}
