import type { Accounts } from '../../accounts/index.ts';
import type { ReadOptions } from '../../concurrency/abort.ts';
import type { ApiRequest, ApiResponse } from '../message.ts';
import type { Endpoint } from '../route.ts';

/** A request that matched a route of the account interface. */
export interface AccountCall {
  readonly accounts: Accounts;
  readonly request: ApiRequest;
  /** Options of reads: they end when the client disconnects, and their rows are charged. */
  readonly work: ReadOptions;
  /** Returns a path parameter, percent-decoded. */
  param(name: string): string;
  readonly query: URLSearchParams;
  /** The body as parsed JSON. `undefined` if the route reads no body. */
  readonly body: unknown;
}

/** A route of the account interface. A chain id as the first segment is `:chainId`. */
export interface AccountRoute extends Endpoint {
  /** As in `Endpoint`, without a book. */
  readonly bodyLimit?: number;
  /** Called before anything else of the request is read. Throws to reject it. */
  before?(call: { readonly request: ApiRequest; readonly operatorToken: string | undefined }): void;
  /** Creates the response. A thrown `AccountError` or `OrderBookError` becomes a rejection. */
  handle(call: AccountCall): Promise<ApiResponse>;
}
