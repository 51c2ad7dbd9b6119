import type { Address, SolverDriver } from 'intentbook';
import { assertKnownOptions, parseHex } from '#internal';
import { createDriverConnection, createResponseError, sendRequest } from './requests.ts';

/** Options of a driver over HTTP. */
export interface HttpDriverOptions {
  /** Name in observations. Default: the host of the URL. */
  readonly name?: string;
  /** The account that settles. Solutions with another one are dropped. Default: any account. */
  readonly submissionAddress?: string;
  /** Additional request headers, such as an authorization. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Whether the body of `POST /solve` is compressed with Brotli, on Node.js. The driver must accept it. Default: false.
   */
  readonly compress?: boolean;
  /**
   * Whether `POST /solve` may have only the differences to the auction before (`kind: delta`). The driver must accept
   * it. Default: false.
   */
  readonly deltas?: boolean;
  /** Maximum size of a response in bytes. Default: 10000000. */
  readonly maxBytes?: number;
  /** Implementation of `fetch`. Default: the global one. */
  readonly fetch?: typeof fetch;
}

const OPTIONS = ['name', 'submissionAddress', 'headers', 'compress', 'deltas', 'maxBytes', 'fetch'];

/**
 * Creates a driver that calls `POST {url}/solve`, `/reveal`, `/settle` and `/notify` in the format of production.
 *
 * @param url - Base URL. A user and a password in it are sent as a Basic `Authorization` header only.
 * @throws TypeError if `url` is not an http or https URL, or if an option is malformed.
 */
export function httpDriver(url: string, options: HttpDriverOptions = {}): SolverDriver {
  assertKnownOptions('httpDriver', options, OPTIONS);
  const connection = createDriverConnection('httpDriver', url, options);
  const submissionAddress = parseSubmissionAddress(options.submissionAddress);
  const { compress = false, deltas = false } = options;
  for (const [option, value] of Object.entries({ compress, deltas })) {
    if (typeof value !== 'boolean') throw new TypeError(`httpDriver: ${option} must be a boolean, got ${value}`);
  }

  /** @throws Error with the kind and the description of the driver, unless it responds with 200. */
  async function post(
    path: string,
    body: string | Uint8Array<ArrayBuffer>,
    signal: AbortSignal,
    auctionId?: number,
    encoding: Readonly<Record<string, string>> = {},
  ): Promise<unknown> {
    const auction = auctionId === undefined ? {} : { 'x-auction-id': String(auctionId) };
    const headers = { 'content-type': 'application/json', ...auction, ...encoding };
    const response = await sendRequest(connection, path, { method: 'POST', headers, body, signal });
    if (response.status !== 200) throw createResponseError(connection, response);
    return response.body;
  }

  return {
    name: connection.name,
    acceptsDeltas: deltas,
    ...(submissionAddress === undefined ? {} : { submissionAddress }),
    async solve({ auction, body }, { signal }) {
      // The engine renders the body into its own buffer, which is not shared.
      const bytes = body as Uint8Array<ArrayBuffer>;
      if (!compress) return post('solve', bytes, signal, auction.id);
      const { compressOnce } = await import('./compress.ts');
      return post('solve', await compressOnce(bytes), signal, auction.id, { 'content-encoding': 'br' });
    },
    reveal: ({ solutionId, auctionId }, { signal }) => {
      return post('reveal', JSON.stringify({ solutionId, auctionId: String(auctionId) }), signal, auctionId);
    },
    async settle({ solutionId, auctionId, submissionDeadlineLatestBlock }, { signal }) {
      const request = { solutionId, submissionDeadlineLatestBlock, auctionId: String(auctionId) };
      await post('settle', JSON.stringify(request), signal, auctionId);
    },
    async notify({ reason, until }, { signal }) {
      await post('notify', JSON.stringify({ banned: { reason, until: new Date(until).toISOString() } }), signal);
    },
  };
}

function parseSubmissionAddress(text: string | undefined): Address | undefined {
  const address = text === undefined ? undefined : parseHex(text, 20);
  if (text === undefined || address !== undefined) return address;
  throw new TypeError(`httpDriver: submissionAddress must be 0x and 40 hex digits, got ${text}`);
}
