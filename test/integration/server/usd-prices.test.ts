import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServeOptions } from 'intentbook/server';
import { serve } from 'intentbook/server';
import { expect, onTestFinished, test } from 'vitest';
import { affiliateTypedData } from '../../support/affiliates.ts';
import { account, COW, WETH } from '../../support/orders.ts';

const TOKEN = '0x00000000000000000000000000000000000000aa';
const DOLLAR = '0x00000000000000000000000000000000000000dd';

async function startServer(options: ServeOptions) {
  const server = await serve({ port: 0, ...options });
  onTestFinished(() => server.close());
  return async (path: string, body?: unknown) => {
    const headers = { 'content-type': 'application/json' };
    const init = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(server.url + path, init);
    return [response.status, await response.json()];
  };
}

/** A server with one fixed response, and its received requests. */
async function double(answer: (body: string) => unknown) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    request.once('end', () => {
      requests.push(`${request.url} ${request.headers['x-cg-demo-api-key'] ?? ''}`);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(answer(body)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  // A listening server has an address.
  return { requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test('server provides USD prices of test tokens by default', async () => {
  const get = await startServer({ db: ':memory:' });
  expect(await get(`/11155111/tokens/${WETH}/usdPrice`)).toEqual([200, { price: 2500 }]);
  expect(await get(`/11155111/tokens/${COW}/usdPrice`)).toEqual([200, { price: 0.25 }]);
  expect(await get(`/11155111/tokens/${TOKEN}/usdPrice`)).toEqual([404, { message: 'Price not found' }]);
  expect(await get(`/11155111/accounts/${TOKEN}/balances?tokens=${TOKEN}`)).toMatchObject([503, {}]);
});

test('server queries CoinGecko first, then the quotes of a book, then the price table', async () => {
  const { url, requests } = await double(() => ({ [TOKEN]: { usd: 7 } }));
  const prices = { [COW]: { price: '0.5', decimals: 6 }, [DOLLAR]: { price: '0.001', decimals: 8 } };
  const get = await startServer({
    coinGecko: { apiKey: 'secret', plan: 'demo', url },
    usdPrices: { 1: { [WETH]: 3 }, 5: { [WETH]: 4 } },
    books: [{ chain: 'mainnet', db: ':memory:', prices, usdToken: { token: DOLLAR, decimals: 8 } }],
  });
  expect(await get(`/1/tokens/${TOKEN}/usdPrice`)).toEqual([200, { price: 7 }]);
  expect(await get(`/1/tokens/${COW}/usdPrice`)).toEqual([200, { price: 500 }]);
  expect(await get(`/1/tokens/${WETH}/usdPrice`)).toEqual([200, { price: 3 }]);
  expect(await get(`/5/tokens/${WETH}/usdPrice`)).toEqual([200, { price: 4 }]);
  const query = `contract_addresses=${TOKEN}&vs_currencies=usd&include_last_updated_at=true`;
  expect(requests[0]).toBe(`/api/v3/simple/token_price/ethereum?${query} secret`);
});

test("affiliates sign under the configured domain name, and contract wallets are checked by the server's nodes", async () => {
  const owner = account(1);
  const node = await double((body) => {
    const { id } = JSON.parse(body);
    return { jsonrpc: '2.0', id, error: { code: -32000, message: 'out of order' } };
  });
  const get = await startServer({ db: ':memory:', affiliateDomain: 'Acme Affiliate', affiliateRpc: [node.url] });
  const domain = { name: 'Acme Affiliate', version: '1' };
  const signedMessage = await owner.signTypedData(affiliateTypedData(owner.address, 'SERVER', domain));
  const body = { walletAddress: owner.address, code: 'SERVER', signedMessage };
  expect(await get(`/affiliate/${owner.address}`, body)).toMatchObject([201, { code: 'SERVER' }]);
  expect(await get('/ref-codes/SERVER')).toEqual([200, { code: 'SERVER' }]);
  expect(node.requests).toEqual([]);
  const contract = { ...body, walletAddress: TOKEN, signedMessage: '0xabcd' };
  expect(await get(`/affiliate/${TOKEN}`, contract)).toMatchObject([503, {}]);
  expect(node.requests.length).toBeGreaterThan(0);
});

test.each([
  [{ profile: 'production' }, 'CoW Swap Affiliate'],
  [{ profile: 'production', affiliateDomain: 'Acme Affiliate' }, 'Acme Affiliate'],
  [{}, 'Service Affiliate'],
] as const)(
  'affiliates of the server %j sign for the domain %s, which the rejection of another one names',
  async (settings, name) => {
    const owner = account(2);
    const get = await startServer({ db: ':memory:', ...settings });
    const register = async (domainName: string) => {
      const domain = { name: domainName, version: '1' };
      const signedMessage = await owner.signTypedData(affiliateTypedData(owner.address, 'PROFILE', domain));
      return get(`/affiliate/${owner.address}`, { walletAddress: owner.address, code: 'PROFILE', signedMessage });
    };
    const message = `Affiliate has invalid signature for the domain "${name}" (\`domainName\` of \`client.account\`), version "1"`;
    expect(await register('Other')).toEqual([401, { message }]);
    expect(await register(name)).toMatchObject([201, { code: 'PROFILE' }]);
  },
);

test('server shows the configured terms, and statistics of a service', async () => {
  const wallet = account(1).address.toLowerCase();
  const { url, requests } = await double(() => ({ total_volume: 12.5 }));
  const terms = {
    rewardAmount: 40,
    triggerVolume: 250_000,
    timeCapDays: 90,
    volumeCap: 5_000_000,
    revenueSplitAffiliatePct: 25,
    revenueSplitTraderPct: 50,
    revenueSplitDaoPct: 25,
  };
  const request = await startServer({
    db: ':memory:',
    affiliateTerms: terms,
    affiliateStatistics: `${url}/stats/?key=k`,
  });
  for (const name of ['affiliate-stats', 'trader-stats', 'trader-activity']) {
    expect(await request(`/affiliate/${name}/${wallet}`)).toEqual([200, { total_volume: 12.5 }]);
  }
  expect(requests).toEqual(
    ['affiliate-stats', 'trader-stats', 'trader-activity'].map((name) => `/stats/${name}/${wallet}?key=k `),
  );
  const { address: owner } = account(1);
  const signedMessage = await account(1).signTypedData(affiliateTypedData(owner, 'TERMS'));
  const body = { walletAddress: owner, code: 'TERMS', signedMessage };
  expect(await request(`/affiliate/${owner}`, body)).toMatchObject([201, {}]);
  expect(await request('/ref-codes/TERMS')).toEqual([
    200,
    { code: 'TERMS', traderRewardAmount: 20, triggerVolume: 250_000, timeCapDays: 90, volumeCap: 5_000_000 },
  ]);
  expect(await request(`/affiliate/${owner}`)).toMatchObject([200, terms]);
});

test('server reports a failing service of statistics, and requires valid terms', async () => {
  const { url } = await double(() => []);
  const request = await startServer({ db: ':memory:', affiliateStatistics: url });
  const message = 'Affiliate statistics are not available';
  expect(await request(`/affiliate/trader-stats/${TOKEN}`)).toEqual([503, { message }]);
  await expect(serve({ port: 0, affiliateTerms: { rewardAmount: -1 } as never })).rejects.toThrow('affiliateTerms');
});

test('server computes statistics of affiliates from its books, with payouts of a file', async () => {
  const terms = {
    rewardAmount: 40,
    triggerVolume: 250_000,
    timeCapDays: 90,
    volumeCap: 5_000_000,
    revenueSplitAffiliatePct: 25,
    revenueSplitTraderPct: 50,
    revenueSplitDaoPct: 25,
  };
  const { address } = account(1);
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-payouts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'payouts.txt');
  writeFileSync(
    file,
    `# payouts\n${address} affiliate 10.25\n${address}, affiliate, 2 # in\u2029May\n${address} trader 5\n`,
  );
  const request = await startServer({
    db: ':memory:',
    affiliateTerms: terms,
    affiliateTermsByCode: { TERMS: { ...terms, triggerVolume: 7 } },
    affiliateStatistics: 'own',
    affiliatePayouts: file,
  });
  const signedMessage = await account(1).signTypedData(affiliateTypedData(address, 'TERMS'));
  await request(`/affiliate/${address}`, { walletAddress: address, code: 'TERMS', signedMessage });
  const stats = () => request(`/affiliate/affiliate-stats/${address}`);
  const empty = { referrer_code: 'TERMS', total_volume: 0, trigger_volume: 7, total_traders: 0, next_payout: 0 };
  expect(await stats()).toMatchObject([200, { ...empty, paid_out: 12.25 }]);
  writeFileSync(file, `${address} affiliate 13\n`);
  expect(await stats()).toMatchObject([200, { paid_out: 12.25 }]); // the file may be incomplete
  await expect.poll(stats, { timeout: 5_000 }).toMatchObject([200, { paid_out: 13 }]);
  writeFileSync(file, `${address} referrer 13\n`);
  await expect.poll(stats, { timeout: 5_000 }).toEqual([503, { message: 'Affiliate statistics are not available' }]);
  expect(await request(`/affiliate/trader-activity/${address}`)).toMatchObject([200, { rows: [] }]);
});

const TERMS = {
  rewardAmount: 40,
  triggerVolume: 250,
  timeCapDays: 90,
  volumeCap: 5000,
  revenueSplitAffiliatePct: 25,
  revenueSplitTraderPct: 50,
  revenueSplitDaoPct: 25,
};

test.each([
  [{ affiliateStatistics: 'own' }, '"affiliateTerms" is missing: "affiliateStatistics" requires it'],
  [
    { affiliateStatistics: 'own', affiliateTerms: TERMS, retentionEvents: 5 },
    'books[0]: "retentionEvents" and "affiliateStatistics": "own" exclude each other',
  ],
  [{ affiliateStatistics: 'ours' }, 'affiliateStatistics must be "own", or an http or https URL'],
  [{ affiliatePayouts: '/missing/payouts.txt' }, 'the payouts /missing/payouts.txt cannot be read'],
  [{ affiliateTermsByCode: { code: {} } }, 'affiliateTermsByCode'],
])('server rejects %j', async (settings, message) => {
  await expect(serve({ port: 0, db: ':memory:', ...settings } as never)).rejects.toThrow(message);
});
