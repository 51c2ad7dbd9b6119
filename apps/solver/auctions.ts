import type { Auction, Competition } from 'intentbook';
import {
  assertKnownOptions,
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

  async function request(path: string, init: RequestInit = {}): Promise<unknown> {
    const headers = new Headers({ ...service.authorization });
    for (const [name, value] of new Headers(init.headers)) headers.set(name, value);
    const response = await send(getEndpoint(service, path), {
      ...init,
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(timeout),
    });
    return readJsonResponse(response, `/${path}`, maxBytes);
  }

  const source: AuctionSource = {
    async current() {
      return (await request('api/v1/auction')) as Auction; // the book renders it from this type
    },
  };
  if (operatorToken === undefined) return source;
  return {
    ...source,
    record: (competition) =>
      request('restricted/api/v1/competition', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${operatorToken}` },
        body: JSON.stringify(competition),
      }),
  };
}
