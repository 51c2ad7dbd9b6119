import type { ErrorCode } from '../../errors.ts';
import type { SchemaName } from './schemas.ts';

/** A successful response. */
export interface Success {
  readonly description: string;
  /** A JSON schema, a list of it, plain text, an event stream, or no body. */
  readonly body: SchemaName | readonly [SchemaName] | 'text' | 'page' | 'events' | 'nothing';
  /** Another media type of the body, which the client can request. */
  readonly file?: 'text/csv' | 'text/html';
  readonly headers?: readonly string[];
}

/** The documentation of a route that its definition does not contain. */
export interface Operation {
  readonly summary: string;
  readonly tag: 'orders' | 'quotes' | 'trades' | 'app data' | 'tokens' | 'solvers' | 'server' | 'accounts';
  /** Query parameters by name. */
  readonly query?: Readonly<Record<string, { readonly type: 'string' | 'integer'; readonly description: string }>>;
  readonly body?: SchemaName;
  readonly success: Readonly<Record<number, Success>>;
  /** Rejection codes of this route. Codes that any route may return are added. */
  readonly errors?: readonly ErrorCode[];
}

export const text = (description: string) => ({ type: 'string', description }) as const;
export const integer = (description: string) => ({ type: 'integer', description }) as const;

/** The query parameters of a list. */
export const PAGE = {
  limit: integer('Page size, 1 to 1000. Default: 10.'),
  cursor: text('Start of the page, from the `Link` header of the previous page.'),
};
