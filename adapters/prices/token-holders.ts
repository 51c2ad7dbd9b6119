import type { TokenHolder, TokenHolderSource } from 'intentbook';
import {
  assertKnownOptions,
  createHeaders,
  createServiceFetch,
  formatSecret,
  parseHex,
  parseServiceUrl,
  readJsonResponse,
} from '#internal';

/** Options of a source of token holders at a URL. */
export interface JsonTokenHoldersOptions {
  /**
   * URLs by chain id. `{token}` is replaced with the address of the token, in lower case. A Blockscout explorer serves
   * `https://eth.blockscout.com/api/v2/tokens/{token}/holders`. Chains without a URL have no holders here. A user and a
   * password in a URL are sent as a Basic `Authorization` header only.
   */
  readonly urls: Readonly<Record<number, string>>;
  /** Further headers of each request, such as a key of the API. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Implementation of `fetch`. Default: the global one. */
  readonly fetch?: typeof fetch;
}

/** Maximum size of a response, in bytes. */
const MAX_BYTES = 1024 * 1024;

/** Holders that are returned. */
const MAX_HOLDERS = 100;

/** Maximum length of a 256-bit decimal. */
const AMOUNT = /^\d{1,78}$/;

/**
 * Creates a source of the largest holders of tokens from JSON over HTTP. Two forms of a response are read:
 *
 * - a list of `{ address, balance }`;
 * - the form of Blockscout: `{ items: [{ address: { hash }, value }] }`.
 *
 * Balances are decimal text in atoms. Malformed holders are left out; a response with malformed ones only is a failure.
 * Status 404 and an empty list stand for an unknown token; any other status besides
 * 200 is a failure. Redirects are not followed.
 *
 * @throws TypeError if an option is unknown or a URL is not an http or https URL with `{token}`.
 */
export function jsonTokenHolders(options: JsonTokenHoldersOptions): TokenHolderSource {
  assertKnownOptions('jsonTokenHolders', options, ['urls', 'headers', 'fetch']);
  const { urls, headers = {} } = options;
  const send = createServiceFetch(options.fetch);
  if (typeof urls !== 'object' || urls === null) {
    throw new TypeError(`jsonTokenHolders: urls must be an object of URLs by chain id, got ${formatSecret(urls)}`);
  }
  for (const [chainId, url] of Object.entries(urls)) assertUrl(chainId, url);
  const option = 'jsonTokenHolders: headers';
  createHeaders(option, headers);
  return {
    name: 'JSON token holders',
    async topHolders({ chainId, token }, { signal }) {
      const url = urls[chainId]?.replaceAll('{token}', token);
      if (url === undefined) return undefined;
      const { base, authorization } = parseServiceUrl('jsonTokenHolders', url);
      const sent = createHeaders(option, { accept: 'application/json' }, authorization, headers);
      const response = await send(base, { headers: sent, signal });
      const document = await readJsonResponse(response, 'the source of token holders', MAX_BYTES, [404]);
      const holders = document === undefined ? [] : parseHolders(document);
      return holders.length === 0 ? undefined : holders;
    },
  };
}

function assertUrl(chainId: string, url: unknown): void {
  const isValid = typeof url === 'string' && /^https?:\/\/[^/]/.test(url) && url.includes('{token}');
  if (isValid && URL.canParse(url.replaceAll('{token}', '0x'))) return;
  throw new TypeError(`jsonTokenHolders: the URL of chain ${chainId} must be an http or https URL with {token}`);
}

/** Parses a response. @returns The largest holders, the largest first. */
function parseHolders(response: unknown): TokenHolder[] {
  const list = Array.isArray(response) ? response : toMembers(response)['items'];
  if (!Array.isArray(list)) throw new TypeError('token holders must be a list, or an object with a list "items"');
  const holders = list.flatMap((each) => parseHolder(each) ?? []);
  if (holders.length === 0 && list.length > 0) {
    throw new TypeError('token holders must have an address, and a balance as decimal text');
  }
  holders.sort((a, b) => (BigInt(a.balance) < BigInt(b.balance) ? 1 : -1));
  return holders.slice(0, MAX_HOLDERS);
}

function parseHolder(entry: unknown): TokenHolder | undefined {
  const { address: holder, balance, value = balance } = toMembers(entry);
  const address = parseHex(typeof holder === 'string' ? holder : toMembers(holder)['hash'], 20);
  if (address === undefined || typeof value !== 'string' || !AMOUNT.test(value)) return undefined;
  return { address, balance: String(BigInt(value)) };
}

function toMembers(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
