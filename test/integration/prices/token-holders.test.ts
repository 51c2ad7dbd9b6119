import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { memoryStore } from 'intentbook/memory';
import { jsonTokenHolders } from 'intentbook/prices';
import { serve } from 'intentbook/server';
import { describe, expect, it } from 'vitest';

const TOKEN = '0x00000000000000000000000000000000000000aa';
const [FIRST, SECOND] = [`0x${'A1'.repeat(20)}`, `0x${'b2'.repeat(20)}`];
const holders = [
  { address: SECOND.toLowerCase(), balance: '100000000000000000000' },
  { address: FIRST.toLowerCase(), balance: '99' },
];
const LIST = [
  { address: FIRST, balance: '99', share: 1 },
  { address: SECOND, balance: '100000000000000000000' },
];
/** The form of `GET /api/v2/tokens/{address}/holders` of Blockscout, with the members that it adds. */
const BLOCKSCOUT = {
  items: LIST.map(({ address, balance }) => ({
    address: { hash: address, is_contract: false, name: null },
    token_id: null,
    value: balance,
  })),
  next_page_params: null,
};

/** An API that responds to the token. */
async function api(respond: (url: string) => readonly [status: number, body: unknown]) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.url} ${request.headers['x-api-key'] ?? ''}`.trim());
    const [status, body] = respond(request.url ?? '');
    response.writeHead(status, { location: '/elsewhere' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // it listens on a port
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const read = (url: string, chainId = 1, headers = {}) =>
  jsonTokenHolders({ urls: { 1: `${url}/tokens/{token}/holders` }, headers }).topHolders(
    { chainId, token: TOKEN },
    { signal: new AbortController().signal },
  );

describe('JSON token holders', () => {
  it.each([
    ['a list', LIST],
    ['the form of Blockscout', BLOCKSCOUT],
  ])('reads %s, the largest first', async (_, body) => {
    await using source = await api(() => [200, body]);
    expect(await read(source.url, 1, { 'x-api-key': 'secret' })).toEqual(holders);
    expect(source.requests).toEqual([`/tokens/${TOKEN}/holders secret`]);
  });

  it('has no holders of unknown tokens and of chains without a URL', async () => {
    await using missing = await api(() => [404, { message: 'Not found' }]);
    expect(await read(missing.url)).toBeUndefined();
    await using empty = await api(() => [200, { items: [] }]);
    expect(await read(empty.url)).toBeUndefined();
    expect(await read(empty.url, 100)).toBeUndefined();
    expect(empty.requests).toHaveLength(1);
  });

  it.each([
    [500, 'responded with status 500', LIST],
    [302, 'fetch failed', LIST],
    [200, 'must be a list', {}],
    [200, 'must be a list', null],
    [200, 'token holders must have an address', [null]],
    [200, 'token holders must have an address', [{ address: '0x12', balance: '1' }]],
    [200, 'a balance as decimal text', [{ address: FIRST, balance: 12 }]],
    [200, 'a balance as decimal text', [{ address: FIRST, balance: '-1' }]],
    [200, 'bytes', 'x'.repeat(1024 * 1024)],
  ])('fails for status %i: %s', async (status, message, body) => {
    await using source = await api(() => [status, body]);
    await expect(read(source.url)).rejects.toThrow(message);
  });

  it('requires URLs with {token}', () => {
    const message = 'the URL of chain 1 must be an http or https URL with {token}';
    for (const url of ['https://example.org/holders', 'file:///{token}', 'https:///{token}', 5 as never]) {
      expect(() => jsonTokenHolders({ urls: { 1: url } })).toThrow(message);
    }
    expect(() => jsonTokenHolders({ url: 'x' } as never)).toThrow('unknown option "url"');
    expect(() => jsonTokenHolders({} as never)).toThrow('urls must be an object of URLs by chain id, got undefined');
  });

  it('is configured with the setting of a server', async () => {
    await using source = await api(() => [200, BLOCKSCOUT]);
    const tokenHoldersUrl = `${source.url}/{token}`;
    const server = await serve({ port: 0, chain: 'mainnet', store: memoryStore(), tokenHoldersUrl });
    try {
      const response = await fetch(`${server.url}/1/tokens/${TOKEN}/topHolders`);
      expect([response.status, await response.json()]).toEqual([200, holders]);
    } finally {
      await server.close();
    }
  });
});
