import { httpSolver } from 'intentbook/estimators';
import { ipfsGateway } from 'intentbook/ipfs';
import { alchemyTokenBalances, coinGecko, coinGeckoHistory, jsonPools, jsonTokenHolders } from 'intentbook/prices';
import { tenderlySimulator } from 'intentbook/simulators';
import { expect, onTestFinished, test } from 'vitest';
import { httpStatistics } from '../../../apps/server/books/affiliate-statistics.ts';
import { cmsAnnouncements } from '../../../apps/server/books/cms.ts';
import { createServiceFetch } from '../../../src/concurrency/service-fetch.ts';
import { serveFetch } from '../../support/fetch-server.ts';

const TOKEN = `0x${'11'.repeat(20)}` as const;
const HASH = `0x${'22'.repeat(32)}` as const;
const CALL = { signal: new AbortController().signal };
const OF_TOKEN = { chainId: 1, token: TOKEN };
const TRADE = { sellToken: TOKEN, buyToken: TOKEN, kind: 'sell', amount: 1n } as const;
const PROJECT = { chainId: 1, account: 'a', project: 'p', apiKey: 'key' };

/** Creates the request of each service. */
const SERVICES: Readonly<Record<string, (url: string) => () => unknown>> = {
  httpSolver(url) {
    const solver = httpSolver(url);
    return () => solver.estimate(TRADE, { ...CALL, timeout: 1000 } as never);
  },
  coinGecko(baseUrl) {
    const source = coinGecko({ baseUrl });
    return () => source.usdPrice(OF_TOKEN, CALL as never);
  },
  coinGeckoHistory(baseUrl) {
    const source = coinGeckoHistory({ baseUrl });
    return () => source.priceHistory(OF_TOKEN, CALL as never);
  },
  jsonPools(url) {
    const source = jsonPools({ url });
    return () => source.pools(1, CALL as never);
  },
  jsonTokenHolders(url) {
    const source = jsonTokenHolders({ urls: { 1: `${url}/{token}` } });
    return () => source.topHolders(OF_TOKEN, CALL as never);
  },
  alchemyTokenBalances(url) {
    const source = alchemyTokenBalances({ urls: { 1: url } });
    return () => source.tokenBalances({ chainId: 1, account: TOKEN }, CALL as never);
  },
  ipfsGateway(url) {
    const source = ipfsGateway(url);
    return () => source.find(HASH, { ...CALL, maxBytes: 100 } as never);
  },
  tenderlySimulator(baseUrl) {
    const simulator = tenderlySimulator({ ...PROJECT, baseUrl });
    return () => simulator.simulate([], CALL as never);
  },
  cmsAnnouncements(url) {
    const read = cmsAnnouncements({ url, apiKey: 'key' });
    return () => read(TOKEN, CALL as never);
  },
  httpStatistics(url) {
    const source = httpStatistics(url);
    return () => source.trader?.(TOKEN, CALL as never);
  },
};

test.each(Object.keys(SERVICES))('%s sends no request in the time that its service requires', async (name) => {
  let headers: Record<string, string> = {};
  let requests = 0;
  const server = await serveFetch(async () => {
    requests++;
    return new Response('', { status: requests % 2 === 0 ? 503 : 429, headers });
  });
  onTestFinished(() => server.close());
  const request = SERVICES[name]?.(server.url) ?? (() => undefined);
  await expect(request()).rejects.toThrow('429');
  headers = { 'retry-after': '60' };
  await expect(request()).rejects.toThrow('503');
  for (let i = 0; i < 3; i++) await expect(request()).rejects.toThrow('127.0.0.1');
  expect(requests).toBe(2);
});

test('a later response does not shorten the pause that an earlier one requires', async () => {
  const headers = { 'retry-after': '60' };
  const responses = [{ status: 429, headers }, { status: 503 }, { status: 429, headers: { 'retry-after': '1' } }];
  const send = createServiceFetch(async () => new Response('', responses.shift()));
  await Promise.all([1, 2, 3].map(() => send('http://service.test/', {})));
  await expect(send('http://service.test/', {})).rejects.toThrow('receives no request for 60 s');
});

test('a pause of one host does not apply to another one', async () => {
  const responses = [{ status: 429, headers: { 'retry-after': '60' } }, { status: 200 }];
  const send = createServiceFetch(async () => new Response('', responses.shift()));
  await send('http://service.test/', {});
  expect((await send('http://other.test/', {})).status).toBe(200);
});
