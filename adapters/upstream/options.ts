import type { UpstreamClass } from 'intentbook';
import {
  assertKnownOptions,
  formatSecret,
  parseServiceUrl,
  requireFunction,
  type ServiceUrl,
  VERSION,
} from '#internal';
import type { BudgetLimits } from './budget.ts';

/** A value, or a function that returns it. It is called for each request, so a file with a new key needs no restart. */
export type Reloadable<T> = T | (() => T | Promise<T>);

/** Headers of requests. */
export type UpstreamHeaders = Readonly<Record<string, string>>;

/** Options of the access to another order book. */
export interface UpstreamAccessOptions {
  /**
   * Base URL: that before `/api/v1`, such as `https://api.cow.fi/mainnet`. A user and a password in it are sent as a
   * Basic `Authorization` header only.
   */
  readonly url: string;
  /** Sent as `X-API-Key`. White space around it is removed. Default: none. */
  readonly apiKey?: Reloadable<string | undefined>;
  /** Additional headers, such as those of a partner programme. Default: none. */
  readonly headers?: Reloadable<UpstreamHeaders>;
  /** URL or mail address of the operator of this book, for the `User-Agent`. Default: none. */
  readonly contact?: string;
  /** Implementation of `fetch`. Default: the global one. */
  readonly fetch?: typeof fetch;
  /**
   * Time limits in milliseconds: of a read, a write and a quote, from the request to the end of the response, and of
   * the wait for a turn in the budget. Default: 15000, 20000, 12000 and 30000.
   */
  readonly timeouts?: Partial<Record<UpstreamClass | 'wait', number>>;
  /**
   * Requests a second of each class, and `concurrency`: the maximum number of requests under way. All books of a
   * process with the same host and key share one budget, and the lowest limits apply. Default: 1.5 reads, 2 writes, 2
   * quotes, 2 under way.
   */
  readonly budget?: Partial<Record<UpstreamClass | 'concurrency', number>>;
}

/** The names of `UpstreamAccessOptions`. */
export const ACCESS_OPTIONS = ['url', 'apiKey', 'headers', 'contact', 'fetch', 'timeouts', 'budget'] as const;

export interface Access {
  readonly service: ServiceUrl;
  readonly host: string;
  readonly apiKey: Reloadable<string | undefined>;
  readonly headers: Reloadable<UpstreamHeaders>;
  readonly userAgent: string;
  readonly fetch: typeof fetch;
  readonly timeouts: Readonly<Record<UpstreamClass | 'wait', number>>;
  readonly limits: BudgetLimits;
}

/** Checks options. @throws TypeError if one of them is malformed. Values of keys and headers are not repeated. */
export function parseAccess(caller: string, options: UpstreamAccessOptions): Access {
  const { apiKey, headers = {}, contact, fetch: send = fetch } = options;
  const service = parseServiceUrl(caller, options.url);
  const [base = '', version] = service.base.pathname.split(/(\/api\/v\d.*)/);
  if (version !== undefined) {
    throw new TypeError(`${caller}: url must be the part before ${version}: ${service.base.origin}${base}`);
  }
  if (apiKey !== undefined && typeof apiKey !== 'string' && typeof apiKey !== 'function') {
    throw new TypeError(`${caller}: apiKey must be a text or a function, got ${formatSecret(apiKey)}`);
  }
  if (typeof apiKey === 'string' && !isHeaderValue(apiKey)) {
    throw new TypeError(`${caller}: apiKey must be the value of a header`);
  }
  if (typeof headers !== 'function' && !areHeaders(headers)) {
    throw new TypeError(`${caller}: headers must be an object with names and values of headers, or a function`);
  }
  if (contact !== undefined && !(typeof contact === 'string' && /^[!-'*-~]{1,200}$/.test(contact))) {
    throw new TypeError(`${caller}: contact must be a URL or a mail address without parentheses`);
  }
  requireFunction(`${caller}: fetch`, send);
  const budget = parseNumbers(caller, 'budget', options.budget, { read: 1.5, write: 2, quote: 2, concurrency: 2 });
  if (!Number.isSafeInteger(budget.concurrency)) {
    throw new TypeError(`${caller}: budget.concurrency must be a positive integer, got ${budget.concurrency}`);
  }
  return {
    service,
    host: service.base.host,
    apiKey,
    headers,
    userAgent: `intentbook/${VERSION}${contact === undefined ? '' : ` (+${contact})`}`,
    fetch: send,
    timeouts: parseNumbers(caller, 'timeouts', options.timeouts, {
      read: 15_000,
      write: 20_000,
      quote: 12_000,
      wait: 30_000,
    }),
    limits: { rates: budget, concurrency: budget.concurrency },
  };
}

export function isHeaderValue(value: unknown): value is string {
  return typeof value === 'string' && areHeaders({ 'x-key': value.trim() });
}

/** Returns whether names and values can be headers. The error of `Headers` would repeat a value. */
export function areHeaders(headers: unknown): headers is UpstreamHeaders {
  if (typeof headers !== 'object' || headers === null) return false;
  try {
    return Object.values(headers).every((value) => typeof value === 'string') && new Headers(headers as never) !== null;
  } catch {
    return false;
  }
}

/** Merges numbers with their defaults. */
function parseNumbers<Name extends string>(
  caller: string,
  option: string,
  given: Partial<Record<Name, number>> = {},
  defaults: Readonly<Record<Name, number>>,
): Record<Name, number> {
  assertKnownOptions<object, string[]>(`${caller}: ${option}`, given, Object.keys(defaults));
  const merged = { ...defaults, ...given };
  for (const [name, value] of Object.entries<number>(merged)) {
    if (typeof value === 'number' && value > 0 && value <= 2 ** 31 - 1) continue;
    throw new TypeError(`${caller}: ${option}.${name} must be a positive number, got ${String(value)}`);
  }
  return merged;
}
