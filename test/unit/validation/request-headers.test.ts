import { createClient } from 'intentbook/client';
import { driverEstimator, httpDriver } from 'intentbook/drivers';
import { httpSolver } from 'intentbook/estimators';
import { ipfsGateway } from 'intentbook/ipfs';
import { coinGecko, coinGeckoHistory, jsonTokenHolders } from 'intentbook/prices';
import { tenderlySimulator } from 'intentbook/simulators';
import { orderBookUpstream } from 'intentbook/upstream';
import { describe, expect, test } from 'vitest';
import { cmsAnnouncements } from '../../../apps/server/books/cms.ts';

const URL = 'https://a.example';
const project = { chainId: 1, account: 'a', project: 'p' };

// No request with such a value is sent, so it would fail each time.
describe.each(['sécret€', 'secret\nx', 'secret\0'])('header value %j', (value) => {
  const headers = { 'x-key': value };
  test.each<[string, () => unknown]>([
    ['createClient', () => createClient(URL, { headers })],
    ['httpDriver', () => httpDriver(URL, { headers })],
    ['driverEstimator', () => driverEstimator(URL, { headers })],
    ['httpSolver', () => httpSolver(URL, { headers })],
    ['ipfsGateway', () => ipfsGateway(URL, { headers })],
    ['jsonTokenHolders', () => jsonTokenHolders({ urls: { 1: `${URL}/{token}` }, headers })],
    ['coinGecko', () => coinGecko({ apiKey: value })],
    ['coinGeckoHistory', () => coinGeckoHistory({ apiKey: value })],
    ['tenderlySimulator', () => tenderlySimulator({ ...project, apiKey: value })],
    ['orderBookUpstream', () => orderBookUpstream({ url: URL, headers })],
    ['CMS_API_KEY', () => cmsAnnouncements({ url: URL, apiKey: value })],
  ])('is rejected by %s without its text', (name, create) => {
    let message = 'accepted';
    try {
      create();
    } catch (error) {
      message = (error as Error).message; // a TypeError
    }
    expect(message).toMatch(new RegExp(`^${name}\\b.* must be `));
    expect(message).not.toContain('secret');
  });
});
