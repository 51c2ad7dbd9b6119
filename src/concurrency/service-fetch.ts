import { type Clock, readMonotonic, systemClock } from '../ports/clock.ts';
import { requireFunction } from '../validation/options.ts';

/** The longest pause that a service can require, in milliseconds. */
const MAX_RETRY_AFTER = 600_000;

/**
 * Creates the function that requests data from services. Redirects are not followed. After a response with status 429
 * or 503 and `Retry-After`, requests to its host are rejected until then without being sent.
 *
 * @throws TypeError if `send` is not a function.
 */
export function createServiceFetch(send: typeof fetch = fetch, clock: Clock = systemClock) {
  requireFunction('fetch', send);
  /** When the next request is allowed, by host, in milliseconds of a monotonic clock. */
  const pauses = new Map<string, number>();
  return async (url: URL | string, init: RequestInit): Promise<Response> => {
    const { host } = new URL(url);
    const left = (pauses.get(host) ?? 0) - readMonotonic(clock);
    if (left > 0) throw new Error(`${host} receives no request for ${Math.ceil(left / 1000)} s, as it requires`);
    const response = await send(url, { ...init, redirect: 'error' });
    if (response.status === 429 || response.status === 503) {
      const delay = parseRetryAfter(response.headers, clock.now()) ?? 0;
      pauses.set(host, Math.max(pauses.get(host) ?? 0, readMonotonic(clock) + delay));
    }
    return response;
  };
}

/**
 * Parses `Retry-After`: seconds, or a date (RFC 9110, 10.2.3). A date is compared with the clock of the server, if its
 * response has one.
 *
 * @returns Milliseconds from 0 to `max`.
 */
export function parseRetryAfter(headers: Headers, now: number, max = MAX_RETRY_AFTER): number | undefined {
  const text = headers.get('retry-after')?.trim() ?? '';
  const serverTime = parseHttpDate(headers.get('date') ?? '');
  const delay = /^-?\d+(\.\d+)?$/.test(text)
    ? Number(text) * 1000
    : parseHttpDate(text) - (Number.isNaN(serverTime) ? now : serverTime);
  return Number.isNaN(delay) ? undefined : Math.min(Math.max(delay, 0), max);
}

/** Parses a date of HTTP (RFC 9110, 5.6.7). Its oldest format has no zone, and is in UTC. NaN for another text. */
export function parseHttpDate(text: string): number {
  // A date begins with the day of the week. `Date.parse` accepts many other texts, and assumes local time.
  if (!/^[A-Za-z]/.test(text)) return Number.NaN;
  // biome-ignore lint/style/noRestrictedGlobals: parses a given time, does not read the clock
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
}
