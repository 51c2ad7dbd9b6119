import type { DocumentSource, Hex } from 'intentbook';
import {
  assertKnownOptions,
  createHeaders,
  createServiceFetch,
  getEndpoint,
  parseHex,
  parseServiceUrl,
  ResponseTooLargeError,
  readResponseText,
} from '#internal';

/** Options of an IPFS gateway. */
export interface IpfsGatewayOptions {
  /** Additional request headers, such as an authorization. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Implementation of `fetch`. Default: the global one. */
  readonly fetch?: typeof fetch;
}

/**
 * Creates a source of app-data documents that queries an IPFS gateway: `GET {url}/ipfs/{cid}`. The CID has version 1
 * and denotes a raw block with a keccak-256 hash, as clients publish app data. Redirects are not followed. A status of
 * 404 or 410, and a document above the size limit, count as missing. Any other status except 200 is a failure.
 *
 * @param url - Base URL of the gateway. Its query, such as a token, is sent with each request. A user and a password in
 * it are sent as a Basic `Authorization` header only.
 * @throws TypeError if `url` is not an http or https URL, or if an option is unknown.
 */
export function ipfsGateway(url: string, options: IpfsGatewayOptions = {}): DocumentSource {
  assertKnownOptions('ipfsGateway', options, ['headers', 'fetch']);
  const service = parseServiceUrl('ipfsGateway', url);
  const send = createServiceFetch(options.fetch);
  const headers = createHeaders('ipfsGateway: headers', service.authorization, options.headers ?? {});

  return {
    async find(hash, { signal, maxBytes }) {
      const response = await send(getEndpoint(service, `ipfs/${toCid(hash)}`), { headers, signal });
      if (response.status === 200) return readResponseText(response, maxBytes).catch(ignoreTooLarge);
      await response.body?.cancel();
      if (response.status === 404 || response.status === 410) return undefined;
      throw new Error(`${service.base.host} responded with status ${response.status}`);
    },
  };
}

function ignoreTooLarge(failure: unknown): undefined {
  if (failure instanceof ResponseTooLargeError) return undefined;
  throw failure;
}

/** The prefix of a CID: version 1, raw block, keccak-256, 32 bytes. */
const PREFIX = '01551b20';

const BASE_32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** Returns the CID of the document with a keccak-256 hash, in lower-case base 32. */
export function toCid(hash: Hex): string {
  if (parseHex(hash, 32) === undefined) throw new TypeError(`toCid: hash must be 0x and 64 hex digits, got ${hash}`);
  const bits = `${PREFIX}${hash.slice(2)}`.replace(/./g, (digit) => Number(`0x${digit}`).toString(2).padStart(4, '0'));
  const groups = bits.match(/.{1,5}/g) ?? [];
  return `b${groups.map((group) => BASE_32[Number(`0b${group.padEnd(5, '0')}`)]).join('')}`;
}
