import type { ApiRequest } from 'intentbook';
import { requireOperator } from '#internal';
import type { Exchange } from './exchange.ts';

/** An action of an operator, for an audit log. */
export interface OperatorAction {
  /** Method and route of a request, or the name of a command. */
  readonly action: string;
  /** `operator token`, `key <name>`, the address of a request without a valid token, or `user <name>`. */
  readonly who: string;
  /** The path of the request, with its query if the token is valid; the database or the file of a command. */
  readonly target: string;
  /** `refused`: the request broke a rule. `failed`: an unexpected failure, or any failure of a command. */
  readonly result: 'ok' | 'refused' | 'failed';
  /** The code of a rejection or a failure. */
  readonly code?: string;
  /** The client of a request, as the rate limit counts it. */
  readonly client?: string;
  readonly requestId?: string;
  readonly status?: number;
}

export interface OperatorAuditOptions {
  readonly operatorToken: string | undefined;
  readonly getRouteName: (path: string) => string | undefined;
  readonly onAction: (action: OperatorAction) => void;
}

/** Creates a function that reports requests to the paths below `/restricted`. Other requests are ignored. */
export function createOperatorAudit({ operatorToken, getRouteName, onAction }: OperatorAuditOptions) {
  return (request: ApiRequest, exchange: Exchange): void => {
    const { method, path, query } = request;
    // A request above the limit was not compared with the token, and could fill the log.
    if (!/\/restricted(?:\/|$)/.test(path) || method === 'OPTIONS' || exchange.status === 429) return;
    const isOperator = hasToken(request, operatorToken);
    const { client = 'unknown', status, errorType, id } = exchange;
    onAction({
      action: `${method} ${getRouteName(path) ?? 'other'}`,
      who: isOperator ? 'operator token' : client,
      target: isOperator && query !== '' ? `${path}?${query}` : path,
      result: getResult(status),
      status,
      ...(errorType === undefined ? {} : { code: errorType }),
      client,
      requestId: id,
    });
  };
}

function getResult(status: number): OperatorAction['result'] {
  if (status < 400) return 'ok';
  return status < 500 ? 'refused' : 'failed';
}

function hasToken(request: ApiRequest, operatorToken: string | undefined): boolean {
  try {
    requireOperator({ request, operatorToken });
    return true;
  } catch {
    return false;
  }
}
