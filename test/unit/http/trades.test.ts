import type { OrderBook } from 'intentbook';
import { expect, test, vi } from 'vitest';
import { TRADE_ROUTES } from '../../../src/http/routes/trades.ts';

test('trades of version 1 are the newest 10,000, whatever limit the query has', async () => {
  const pages = vi.fn(async function* () {});
  const route = TRADE_ROUTES.find(({ path }) => path === '/api/v1/trades');
  const owner = `0x${'12'.repeat(20)}`;
  const request = {
    book: { trades: { pages } } as unknown as OrderBook,
    query: new URLSearchParams({ owner, limit: '5' }),
  };
  await route?.handle(request as never); // the members that are read
  expect(pages).toHaveBeenCalledWith({ owner, limit: 10_000 }, undefined);
});
