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

/** Creates a response with a CSV file. */
export function csvResponse(
  name: string,
  body: ApiResponse['body'],
  headers: Readonly<Record<string, string>>,
): ApiResponse {
  return {
    status: 200,
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}.csv"`,
      'cache-control': 'no-store',
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  };
}
