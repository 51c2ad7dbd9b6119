import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { coinGeckoHistory, jsonTokenHolders } from 'intentbook/prices';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cmsAnnouncements } from '../../../apps/server/books/cms.ts';
import { selectAnnouncements } from '../../../src/notifications/announcements.ts';

const TOKEN = `0x${'11'.repeat(20)}` as const;
const HOLDER = `0x${'22'.repeat(20)}` as const;
const call = { signal: new AbortController().signal };

/** Starts a service that returns a document. */
async function serve(document: unknown): Promise<string> {
  const server = createServer((_, response) => void response.end(JSON.stringify(document)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a listening server has an address
}

describe('one malformed element of a service', () => {
  const item = (id: number) => ({ id, description: `news ${id}`, createdAt: '2026-01-01T00:00:00Z' });

  test.each([
    ['no text', { id: 2, description: null, createdAt: '2026-01-01T00:00:00Z' }],
    ['no time', { ...item(2), createdAt: null }],
    ['an id as text', { ...item(2), id: 'x7' }],
    ['nothing', null],
  ])('with %s does not hide the other announcements', async (_name, malformed) => {
    const source = cmsAnnouncements({ url: await serve([item(1), malformed, item(3)]), apiKey: 'key' });
    const failures: unknown[] = [];
    const listed = selectAnnouncements(await source(TOKEN, call), (failure) => void failures.push(failure));
    expect(listed.map(({ message }) => message)).toEqual(['news 1', 'news 3']);
    expect(failures).toHaveLength(1);
  });

  test.each([[{ address: HOLDER, value: null }], [{ address: '0x1', value: '7' }], [null]])(
    '%j does not hide the other holders',
    async (malformed) => {
      const url = `${await serve([malformed, { address: HOLDER, balance: '5' }])}/{token}`;
      const holders = await jsonTokenHolders({ urls: { 1: url } }).topHolders({ chainId: 1, token: TOKEN }, call);
      expect(holders).toEqual([{ address: HOLDER, balance: '5' }]);
    },
  );

  test.each([[[2, null]], [[null, 5]], [[3, 0]], [null]])(
    '%j does not hide the other past prices',
    async (malformed) => {
      const baseUrl = await serve({ prices: [[1, 4], malformed, [5, 6]] });
      const history = await coinGeckoHistory({ baseUrl }).priceHistory({ chainId: 1, token: TOKEN }, call);
      expect(history).toEqual([
        { at: 1, price: 4 },
        { at: 5, price: 6 },
      ]);
    },
  );
});
