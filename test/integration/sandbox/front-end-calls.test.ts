import { createSandbox, type Sandbox, type Trader } from 'intentbook/sandbox';
import { appDataHash, cancellationTypedData, signingDomain } from 'intentbook/sign';
import { afterAll, beforeAll, expect, it } from 'vitest';

let sandbox: Sandbox;
let trader: Trader;
/** Values of the names in braces. */
let names: Readonly<Record<string, string>>;
beforeAll(async () => {
  sandbox = await createSandbox();
  trader = await sandbox.createTrader({ WETH: '5' });
  const uid = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['2000', 'USDC'] });
  await sandbox.waitFor(uid, 'fulfilled');
  await sandbox.waitForNotification(trader, 'order_filled');
  const [trade] = await sandbox.book.trades.list({ orderUid: uid });
  const [weth = '', usdc = ''] = ['WETH', 'USDC'].map((symbol) => sandbox.token(symbol).address);
  names = { uid, tx: trade?.txHash ?? '', owner: trader.address, weth, usdc, chain: String(sandbox.chainId) };
});
afterAll(() => sandbox.close());

const HEX = expect.stringMatching(/^0x[0-9a-f]+$/);
const AMOUNT = expect.stringMatching(/^\d+$/);
const NUMBER = expect.any(Number);
const TEXT = expect.any(String);
const LIST = expect.any(Array);
const UNKNOWN = `0x${'12'.repeat(56)}`;

const ORDER = expect.objectContaining({
  uid: HEX,
  owner: HEX,
  sellToken: HEX,
  buyToken: HEX,
  sellAmount: AMOUNT,
  buyAmount: AMOUNT,
  validTo: NUMBER,
  kind: 'sell',
  class: 'limit',
  status: 'fulfilled',
  creationDate: expect.stringMatching(/Z$/),
  invalidated: false,
  appData: HEX,
  fullAppData: '{}',
  signature: HEX,
  signingScheme: 'eip712',
  executedSellAmount: AMOUNT,
  executedSellAmountBeforeFees: AMOUNT,
  executedBuyAmount: AMOUNT,
  executedFee: AMOUNT,
  executedFeeToken: HEX,
  partiallyFillable: false,
  sellTokenBalance: 'erc20',
  buyTokenBalance: 'erc20',
});
const TRADE = expect.objectContaining({
  blockNumber: NUMBER,
  logIndex: NUMBER,
  orderUid: HEX,
  owner: HEX,
  sellToken: HEX,
  buyToken: HEX,
  sellAmount: AMOUNT,
  sellAmountBeforeFees: AMOUNT,
  buyAmount: AMOUNT,
  txHash: HEX,
  executedProtocolFees: LIST,
});

/** The reads of CoW Explorer 4.9.0 and CoW Swap 3.23.0, as they were recorded, with the members that they use. */
const READS: readonly (readonly [path: string, status: number, body: unknown])[] = [
  ['/api/v1/version', 200, TEXT],
  ['/api/v1/orders/{uid}', 200, ORDER],
  [`/api/v1/orders/${UNKNOWN}`, 404, expect.objectContaining({ errorType: 'NotFound', description: TEXT })],
  ['/api/v1/orders/{uid}/status', 200, { type: 'traded', value: LIST }],
  ['/api/v2/trades?orderUid={uid}&offset=0&limit=11', 200, [TRADE]],
  ['/api/v1/account/{owner}/orders?offset=0&limit=21', 200, [ORDER]],
  ['/api/v1/account/{owner}/orders?offset=0&limit=100', 200, [ORDER]],
  ['/api/v1/transactions/{tx}/orders', 200, [ORDER]],
  [`/api/v1/transactions/0x${'34'.repeat(32)}/orders`, 200, []],
  ['/api/v1/users/{owner}/total_surplus', 200, { totalSurplus: AMOUNT }],
  [
    '/api/v2/solver_competition/by_tx_hash/{tx}',
    200,
    expect.objectContaining({
      auctionId: NUMBER,
      solutions: [expect.objectContaining({ isWinner: true, ranking: 1 })],
    }),
  ],
  ['/{chain}/tokens/{weth}/usdPrice', 200, { price: 2500 }],
  ['/{chain}/markets/{weth}-{usdc}/slippageTolerance', 200, { slippageBps: NUMBER }],
  ['/affiliate/{owner}', 404, { message: TEXT }],
  ['/notification-list/{owner}', 200, expect.arrayContaining([expect.objectContaining({ title: 'Order filled' })])],
  ['/accounts/{owner}/notifications', 200, LIST],
  ['/announcements?populate=*', 200, expect.objectContaining({ data: [] })],
  ['/correlated-tokens?populate=*', 200, expect.objectContaining({ data: [] })],
  ['/restricted-token-lists?populate=*', 200, expect.objectContaining({ data: [] })],
  ['/solvers?populate[solver_networks]=*', 200, expect.objectContaining({ data: [expect.anything()] })],
];

const fillIn = (path: string) => path.replace(/\{(\w+)\}/g, (_, name: string) => names[name] ?? '');

/** Sends a request as a page of another origin does. */
async function send(method: string, path: string, body?: object): Promise<readonly [number, unknown]> {
  const response = await fetch(sandbox.url + fillIn(path), {
    method,
    headers: { origin: 'https://swap.example.org', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  return [response.status, await (isJson ? response.json() : response.text())];
}

it.each(READS)('front ends: GET %s responds %i', async (path, status, body) => {
  expect(await send('GET', path)).toEqual([status, body]);
});

it('front ends: a swap is quoted, documented, signed, submitted and cancelled as recorded', async () => {
  const document = JSON.stringify({ appCode: 'CoW Swap', environment: 'production', metadata: {}, version: '1.15.0' });
  const hash = appDataHash(document);
  const terms = {
    sellToken: names['weth'],
    buyToken: names['usdc'],
    receiver: trader.address,
    from: trader.address,
    validFor: 1800,
    appData: document,
    appDataHash: hash,
    partiallyFillable: false,
    kind: 'sell',
    sellAmountBeforeFee: '1000000000000000000',
  };
  const quote = expect.objectContaining({
    quote: expect.objectContaining({ sellAmount: AMOUNT, buyAmount: AMOUNT, feeAmount: AMOUNT, appData: document }),
    from: expect.stringMatching(new RegExp(trader.address, 'i')),
    expiration: TEXT,
    verified: expect.any(Boolean),
  });
  for (const [priceQuality, id] of [
    ['fast', null], // not stored, as in production
    ['optimal', NUMBER],
  ] as const) {
    const response = await send('POST', '/api/v1/quote', { ...terms, priceQuality, signingScheme: 'eip712' });
    expect(response).toEqual([200, quote]);
    expect(response).toMatchObject([200, { id }]);
  }
  const native = { ...terms, priceQuality: 'optimal', signingScheme: 'eip1271', onchainOrder: true };
  expect(await send('POST', '/api/v1/quote', native)).toEqual([200, quote]);
  const negative = { ...terms, priceQuality: 'fast', sellAmountBeforeFee: '-162313000000000' };
  expect(await send('POST', '/api/v1/quote', negative)).toMatchObject([400, { errorType: 'InvalidParameter' }]);

  const path = `/api/v1/app_data/${hash}`;
  expect(await send('PUT', path, { fullAppData: document })).toEqual([201, hash]);
  expect(await send('PUT', path, { fullAppData: document })).toEqual([200, hash]);

  const order = trader.createOrder({ sell: ['1', 'WETH'], for: ['9000', 'USDC'] }, { appData: document });
  const [status, uid] = await send('POST', '/api/v1/orders', { ...order, appDataHash: hash });
  expect([status, uid]).toEqual([201, HEX]);
  const orderUids = [String(uid)];
  const signature = trader.signTypedData(cancellationTypedData(signingDomain(sandbox), orderUids));
  const cancellation = { orderUids, signature, signingScheme: 'eip712' };
  expect(await send('DELETE', '/api/v1/orders', cancellation)).toEqual([200, 'Cancelled']);
});
