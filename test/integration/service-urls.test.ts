import type { Address } from 'intentbook';
import { ipfsGateway } from 'intentbook/ipfs';
import { alchemyTokenBalances, coinGecko, coinGeckoHistory, jsonPools, jsonTokenHolders } from 'intentbook/prices';
import { tenderlySimulator } from 'intentbook/simulators';
import { describe, expect, it } from 'vitest';

const URL_TEXT = 'http://user:secret@127.0.0.1:1/base/?token=x';
const BASE = 'http://127.0.0.1:1/base/';
const TOKEN: Address = `0x${'aa'.repeat(20)}`;
const HASH = `0x${'12'.repeat(32)}` as const;
const context = { signal: new AbortController().signal, maxBytes: 100 };
const query = { chainId: 1, token: TOKEN };

/** Calls a service at a URL with this implementation of `fetch`. */
type Call = (url: string, fetch?: typeof globalThis.fetch) => unknown;
const withFetch = (fetch: typeof globalThis.fetch | undefined) => (fetch === undefined ? {} : { fetch });

const SERVICES: readonly (readonly [string, Call])[] = [
  ['ipfsGateway', (url, fetch) => ipfsGateway(url, withFetch(fetch)).find(HASH, context)],
  ['coinGecko', (baseUrl, fetch) => coinGecko({ baseUrl, ...withFetch(fetch) }).usdPrice(query, context)],
  [
    'coinGeckoHistory',
    (baseUrl, fetch) => coinGeckoHistory({ baseUrl, ...withFetch(fetch) }).priceHistory(query, context),
  ],
  ['jsonPools', (url, fetch) => jsonPools({ url, ...withFetch(fetch) }).pools(1, context)],
  [
    'jsonTokenHolders',
    (url, fetch) =>
      jsonTokenHolders({ urls: { 1: `${url}&of={token}` }, ...withFetch(fetch) }).topHolders(query, context),
  ],
  [
    'alchemyTokenBalances',
    (url, fetch) =>
      alchemyTokenBalances({ urls: { 1: url }, ...withFetch(fetch) }).tokenBalances(
        { chainId: 1, account: TOKEN },
        context,
      ),
  ],
  [
    'tenderlySimulator',
    (baseUrl, fetch) =>
      tenderlySimulator({ chainId: 1, apiKey: 'k', account: 'a', project: 'p', baseUrl, ...withFetch(fetch) }).simulate(
        [],
        context,
      ),
  ],
];

describe('URL of a service', () => {
  it.each(SERVICES)('%s sends a user and a password as a header', async (_, call) => {
    const requests: (readonly [string, string | null])[] = [];
    await Promise.resolve(
      call(URL_TEXT, async (url, init) => {
        requests.push([String(url), new Headers(init?.headers).get('authorization')]);
        return new Response('', { status: 500 });
      }),
    ).catch(() => {});
    expect(requests).toHaveLength(1);
    const [[url, authorization] = ['', null]] = requests;
    expect(url.startsWith(BASE)).toBe(true);
    expect(new URL(url).searchParams.get('token')).toBe('x');
    expect(authorization).toBe(`Basic ${btoa('user:secret')}`);
  });

  it.each(SERVICES)('%s does not repeat it in errors', async (_, call) => {
    const error = await Promise.resolve(call(URL_TEXT)).then(
      () => undefined,
      (failure: unknown) => failure,
    );
    expect(String(error)).toContain('fetch failed');
    expect(String(error)).not.toMatch(/secret|token/);
  });

  it.each(SERVICES)('%s must be an http or https URL', async (name, call) => {
    const run = async () => call('ftp://user:secret@host/?token=x');
    await expect(run()).rejects.toThrow(new RegExp(`^${name}: .* must be an http or https URL`));
    await expect(run()).rejects.not.toThrow('secret');
  });
});
