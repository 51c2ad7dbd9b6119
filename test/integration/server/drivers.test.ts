import { serve } from 'intentbook/server';
import { afterEach, expect, test } from 'vitest';
import type { FetchServer } from '../../support/fetch-server.ts';
import { serveFetch } from '../../support/fetch-server.ts';
import { account, COW, signOrder, WETH } from '../../support/orders.ts';
import { until } from '../channels/channel-fixture.ts';

let driver: FetchServer | undefined;
afterEach(() => driver?.close());

test('server: runs auctions with drivers, requests their quotes and reports a problem once', async () => {
  const solved: { readonly orders: readonly { readonly uid: string }[] }[] = [];
  driver = await serveFetch(async (request) => {
    if (request.method === 'GET') {
      const solver = account(9).address;
      return Response.json({ clearingPrices: { [WETH]: '2', [COW]: '1' }, interactions: [], solver, gas: 1 });
    }
    solved.push((await request.json()) as (typeof solved)[number]); // rendered by the book
    return Response.json({ kind: 'SolverFailed', description: 'no engine' }, { status: 400 });
  });
  const failures: string[] = [];
  const server = await serve({
    port: 0,
    db: ':memory:',
    drivers: [`${driver.url}/alpha/`],
    quoteDrivers: [driver.url],
    onFailure: (_, failure) => failures.push(String(failure)),
  });
  const validTo = Math.floor(Date.now() / 1000) + 3600;
  const uids: string[] = [];
  for (const seed of [1, 2]) {
    const result = await server.book.orders.submit(await signOrder(account(seed), { validTo }));
    if (result.status === 'accepted') uids.push(result.uid);
    await until(() => solved.length === seed);
  }
  expect(solved[1]?.orders.map(({ uid }) => uid).sort()).toEqual(uids.sort());
  const name = `${new URL(driver.url).host}/alpha`;
  await until(() => failures.length > 0);
  expect(failures).toEqual([
    `Error: driver ${name}: solve: ${name} responded with status 400 (SolverFailed: no engine)`,
  ]);
  const terms = { sellToken: WETH, buyToken: COW, from: account(1).address } as const;
  const quote = await server.book.quotes.request({
    ...terms,
    kind: 'sell',
    sellAmountBeforeFee: '1000000000000000000',
  });
  expect(quote).toMatchObject({ status: 'quoted' });
  expect(server.book.quotes.counters()).toHaveProperty([new URL(driver.url).host]);
  await server.close();
}, 30_000);
