import type { Address, TokenBalanceSource } from 'intentbook';
import {
  assertKnownOptions,
  createServiceFetch,
  formatSecret,
  NATIVE_MARKER,
  parseHex,
  parseServiceUrl,
  readJsonResponse,
} from '#internal';

/** Options of a source of the balances of accounts. */
export interface AlchemyTokenBalancesOptions {
  /**
   * URLs of nodes with the method `alchemy_getTokenBalances`, by chain id. Chains without a URL have no balances here.
   * A user and a password in a URL are sent as a Basic `Authorization` header only.
   */
  readonly urls: Readonly<Record<number, string>>;
  /** Implementation of `fetch`. Default: the global one. */
  readonly fetch?: typeof fetch;
}

/** Maximum size of a response, in bytes. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Pages that are read. A page has about 100 tokens. */
const MAX_PAGES = 20;

/**
 * Creates a source of the balances of an account in all tokens, from nodes with `alchemy_getTokenBalances`. All pages
 * are read, at most 20. Tokens with an error and balances of 0 are left out. Any other response than a page of balances
 * is a failure. Redirects are not followed.
 *
 * @throws TypeError if an option is unknown or a URL is not an http or https URL.
 */
export function alchemyTokenBalances(options: AlchemyTokenBalancesOptions): TokenBalanceSource {
  assertKnownOptions('alchemyTokenBalances', options, ['urls', 'fetch']);
  const { urls } = options;
  const send = createServiceFetch(options.fetch);
  if (typeof urls !== 'object' || urls === null) {
    throw new TypeError(`alchemyTokenBalances: urls must be an object of URLs by chain id, got ${formatSecret(urls)}`);
  }
  const services = new Map(
    Object.entries(urls).map(([chainId, url]) => [Number(chainId), parseServiceUrl('alchemyTokenBalances', url)]),
  );

  async function readPage(chainId: number, params: readonly unknown[], signal: AbortSignal): Promise<Page> {
    const { base, authorization } = services.get(chainId) ?? {};
    if (base === undefined) throw new TypeError(`there is no URL of chain ${chainId}`);
    const response = await send(base, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...authorization },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'alchemy_getTokenBalances', params }),
      signal,
    });
    return parsePage(await readJsonResponse(response, 'the source of token balances', MAX_BYTES));
  }

  return {
    name: 'Alchemy token balances',
    async tokenBalances({ chainId, account }, { signal }) {
      if (!services.has(chainId)) return undefined;
      const balances: Record<Address, string> = {};
      let pageKey: string | undefined;
      for (let page = 0; page < MAX_PAGES; page++) {
        const more = pageKey === undefined ? [] : [{ pageKey }];
        const found = await readPage(chainId, [account, ['erc20', 'NATIVE_TOKEN'], ...more], signal);
        Object.assign(balances, found.balances);
        pageKey = found.pageKey;
        if (pageKey === undefined) break;
      }
      return balances;
    },
  };
}

interface Page {
  readonly balances: Readonly<Record<Address, string>>;
  readonly pageKey: string | undefined;
}

function parsePage(response: unknown): Page {
  const { tokenBalances, pageKey } = toMembers(toMembers(response)['result']);
  if (!Array.isArray(tokenBalances)) throw new TypeError('the response must have a list "result.tokenBalances"');
  const entries = tokenBalances.flatMap((each) => parseBalance(each) ?? []);
  return {
    balances: Object.fromEntries(entries),
    pageKey: typeof pageKey === 'string' && pageKey !== '' ? pageKey : undefined,
  };
}

/** Returns a balance above 0. `undefined` for others, and for tokens that the node could not read. */
function parseBalance(entry: unknown): readonly [readonly [Address, string]] | undefined {
  const { contractAddress, tokenBalance, error } = toMembers(entry);
  const isNative = contractAddress === null || /^0x0{40}$/.test(String(contractAddress));
  const token = isNative ? NATIVE_MARKER : parseHex(contractAddress, 20);
  if (token === undefined || (error !== undefined && error !== null)) return undefined;
  if (typeof tokenBalance !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(tokenBalance)) return undefined;
  const balance = BigInt(tokenBalance);
  return balance === 0n ? undefined : [[token, String(balance)]];
}

function toMembers(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
