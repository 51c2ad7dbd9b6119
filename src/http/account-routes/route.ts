import type { Accounts } from '../../accounts/accounts.ts';
import type { ApiRequest, ApiResponse } from '../message.ts';
import type { Endpoint } from '../route.ts';

/** A request to the account interface that has found its route. */
export interface AccountCall {
  readonly accounts: Accounts;
  readonly request: ApiRequest;
  /** A parameter of the path, percent-decoded. */
  param(name: string): string;
  readonly query: URLSearchParams;
  /** The body as parsed JSON; `undefined` on a route that reads none. */
  readonly body: unknown;
}

/** One endpoint of the account interface. A chain's number as the first segment is `:chainId`. */
export interface AccountRoute extends Endpoint {
  /** Bytes of JSON body that are read at most. Absent: the route reads none. */
  readonly bodyLimit?: number;
  /** Answers. May throw an `AccountError` or an `OrderBookError`, which becomes its rejection. */
  handle(call: AccountCall): Promise<ApiResponse>;
}
