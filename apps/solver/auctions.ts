import type { Auction, Competition } from 'intentbook';
import {
  assertKnownOptions,
  createHeaders,
  getEndpoint,
  MAX_TIMER,
  parseServiceUrl,
  readJsonResponse,
  requireInteger,
} from '#internal';

/** Source of auctions, such as `book.auctions`. */
export interface AuctionSource {
  current(): Promise<Auction>;
  /** Records the competition of an auction. Absent: it is not recorded. */
  record?(competition: Competition): Promise<unknown>;
}

/** Access to an order book over HTTP. */
export interface HttpAuctionsOptions {
  /** Token that allows recording competitions. Default: none, and competitions are not recorded. */
  readonly operatorToken?: string;
  /** Timeout of a request, in milliseconds. Default: 10000. */
  readonly timeout?: number;
  /** Maximum size of a response in bytes. Default: 50000000. */
  readonly maxBytes?: number;
  /** Default: the global one. */
  readonly fetch?: typeof fetch;
}

/**
 * Creates a source of auctions from the HTTP interface of an order book.
 *
 * @param url - Base URL of the book, such as `http://127.0.0.1:8080`. A user and a password in it are sent as a Basic
 * `Authorization` header only.
 * @throws TypeError if `url` is not an http or https URL, or if an option is unknown or malformed.
 */
export function httpAuctions(url: string, options: HttpAuctionsOptions = {}): AuctionSource {
  assertKnownOptions('httpAuctions', options, ['operatorToken', 'timeout', 'maxBytes', 'fetch']);
  const { operatorToken, fetch: send = fetch } = options;
  const service = parseServiceUrl('httpAuctions', url);
  const timeout = requireInteger('httpAuctions: timeout', options.timeout ?? 10_000, 1, MAX_TIMER);
  const maxBytes = requireInteger('httpAuctions: maxBytes', options.maxBytes ?? 50_000_000);

  async function request(path: string, init: RequestInit): Promise<unknown> {
    const signal = AbortSignal.timeout(timeout);
    const response = await send(getEndpoint(service, path), { ...init, redirect: 'error', signal });
    return readJsonResponse(response, `/${path}`, maxBytes);
  }

  const source: AuctionSource = {
    async current() {
      const headers = new Headers(service.authorization);
      return (await request('api/v1/auction', { headers })) as Auction; // the book renders it from this type
    },
  };
  if (operatorToken === undefined) return source;
  const json = { 'content-type': 'application/json' };
  const headers = createHeaders('httpAuctions: operatorToken', json, { authorization: `Bearer ${operatorToken}` });
  return {
    ...source,
    record: (competition) =>
      request('restricted/api/v1/competition', { method: 'POST', headers, body: JSON.stringify(competition) }),
  };
}
