import { memoryStore } from 'intentbook/memory';
import { alchemyTokenBalances } from 'intentbook/prices';
import { serve } from 'intentbook/server';
import { describe, expect, it } from 'vitest';
import { serveFetch } from '../../support/fetch-server.ts';

const ACCOUNT = `0x${'a1'.repeat(20)}` as const;
const [FIRST, SECOND] = [`0x${'C1'.repeat(20)}`, `0x${'c2'.repeat(20)}`];
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
const entry = (contractAddress: string | null, tokenBalance: string, error?: string) => {
  return { contractAddress, tokenBalance, ...(error === undefined ? {} : { error }) };
};
const PAGES: Readonly<Record<string, object>> = {
  first: { tokenBalances: [entry(null, '0xde0b6b3a7640000'), entry(FIRST, '0x0a')], pageKey: 'second' },
  second: { tokenBalances: [entry(SECOND, `0x${'0'.repeat(64)}`), entry(ACCOUNT, '0x1', 'reverted')] },
};
const BALANCES = { [NATIVE]: String(10n ** 18n), [FIRST.toLowerCase()]: '10' };

/** A node that answers with the pages. Default: with those of an account. */
async function node(respond?: () => Response) {
  const requests: unknown[] = [];
  const { url, close } = await serveFetch(async (request) => {
    const { method, params } = (await request.json()) as { method: string; params: [string, unknown, object?] };
    requests.push([method, ...params]);
    const { pageKey = 'first' } = (params[2] ?? {}) as { pageKey?: string };
    return respond?.() ?? Response.json({ jsonrpc: '2.0', id: 1, result: PAGES[pageKey] });
  });
  return { url, requests, [Symbol.asyncDispose]: close };
}

const read = (url: string, chainId = 1) =>
  alchemyTokenBalances({ urls: { 1: url } }).tokenBalances(
    { chainId, account: ACCOUNT },
    { signal: new AbortController().signal },
  );

describe('Alchemy token balances', () => {
  it('reads all pages, without balances of 0 and tokens that the node cannot read', async () => {
    await using source = await node();
    expect(await read(source.url)).toEqual(BALANCES);
    const page = ['alchemy_getTokenBalances', ACCOUNT, ['erc20', 'NATIVE_TOKEN']];
    expect(source.requests).toEqual([page, [...page, { pageKey: 'second' }]]);
    expect(await read(source.url, 100)).toBeUndefined();
  });

  it('ends a list that has no end', async () => {
    await using source = await node(() => Response.json({ result: PAGES['first'] }));
    expect(await read(source.url)).toEqual(BALANCES);
    expect(source.requests).toHaveLength(20);
  });

  it.each([
    ['status 500', () => new Response('', { status: 500 }), 'responded with status 500'],
    ['an error', () => Response.json({ error: { code: -32601, message: 'no such method' } }), 'must have a list'],
    ['no JSON', () => new Response('x'), 'JSON'],
    ['a redirection', () => new Response('', { status: 302, headers: { location: '/' } }), 'fetch failed'],
  ])('fails for %s', async (_, respond, message) => {
    await using source = await node(respond);
    await expect(read(source.url)).rejects.toThrow(message);
  });

  it('are served by a server, cached for 5 seconds', async () => {
    await using source = await node();
    const server = await serve({ port: 0, chain: 'mainnet', store: memoryStore(), tokenBalancesUrl: source.url });
    try {
      const get = async (path: string) => {
        const response = await fetch(`${server.url}${path}`);
        return [response.status, await response.json(), response.headers.get('cache-control')];
      };
      expect(await get(`/1/address/${ACCOUNT}/balances`)).toEqual([200, { balances: BALANCES }, 'public, max-age=5']);
      expect(await get(`/1/address/${ACCOUNT}/balances?ignoreCache=true`)).toEqual([
        200,
        { balances: BALANCES },
        'no-store, max-age=0',
      ]);
      expect(source.requests).toHaveLength(2);
      expect(await get(`/100/address/${ACCOUNT}/balances`)).toEqual([
        404,
        { message: 'Balances not found' },
        'no-store',
      ]);
      expect(await get('/1/address/0x12/balances')).toEqual([400, { message: expect.any(String) }, 'no-store']);
      expect(await get('/about')).toMatchObject([200, { name: 'intentbook' }, 'public, max-age=600']);
    } finally {
      await server.close();
    }
    const plain = await serve({ port: 0, chain: 'mainnet', store: memoryStore() });
    try {
      const response = await fetch(`${plain.url}/1/address/${ACCOUNT}/balances`);
      expect([response.status, await response.json()]).toEqual([
        503,
        { message: 'Token balances are not available on this server' },
      ]);
    } finally {
      await plain.close();
    }
  });

  it('is 503 while a source fails', async () => {
    await using source = await node(() => new Response('', { status: 500 }));
    const server = await serve({ port: 0, chain: 'mainnet', store: memoryStore(), tokenBalancesUrl: source.url });
    try {
      expect((await fetch(`${server.url}/1/address/${ACCOUNT}/balances`)).status).toBe(503);
    } finally {
      await server.close();
    }
  });
});
