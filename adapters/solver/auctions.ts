import type { Auction, Competition } from 'intentbook';

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
  /** Default: the global one. */
  readonly fetch?: typeof fetch;
}

/**
 * Creates a source of auctions from the HTTP interface of an order book.
 *
 * @param url - Base URL of the book, such as `http://127.0.0.1:8080`.
 */
export function httpAuctions(url: string, options: HttpAuctionsOptions = {}): AuctionSource {
  const { operatorToken, timeout = 10_000, fetch: send = fetch } = options;
  const base = url.replace(/\/+$/, '');

  async function request(path: string, init: RequestInit = {}): Promise<unknown> {
    const response = await send(base + path, { ...init, signal: AbortSignal.timeout(timeout) });
    if (!response.ok) throw new Error(`${path} returned status ${response.status}`);
    return response.json();
  }

  const source: AuctionSource = {
    async current() {
      return (await request('/api/v1/auction')) as Auction; // the book renders it from this type
    },
  };
  if (operatorToken === undefined) return source;
  return {
    ...source,
    record: (competition) =>
      request('/restricted/api/v1/competition', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${operatorToken}` },
        body: JSON.stringify(competition),
      }),
  };
}
