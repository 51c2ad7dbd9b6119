import assert from 'node:assert/strict';
import { createServer, request as send } from 'node:http';
import { after, before, test } from 'node:test';
import { createSandbox } from 'intentbook/sandbox';
import { privateKeyToAccount } from 'viem/accounts';
import { middleOf, startMarketMaker } from './market-maker.js';

let sandbox;
before(async () => {
  sandbox = await createSandbox({ chain: 'simulated' });
});
after(() => sandbox.close());

/** Starts a market maker that stops with the test. */
async function open(context, symbol, fallback, options = {}) {
  const { privateKey } = await sandbox.createTrader({ WETH: '100', [symbol]: '250000' });
  const terms = { base: sandbox.token('WETH').address, quote: sandbox.token(symbol).address, size: 10n ** 18n };
  const maker = await startMarketMaker({
    ...sandbox,
    wallet: privateKeyToAccount(privateKey),
    ...terms,
    fallback,
    ...options,
  });
  context.after(() => maker.close());
  return maker;
}

/** Waits for a condition. */
async function until(check) {
  while (!(await check())) await new Promise((resolve) => setTimeout(resolve, 20));
}

const read = (uids) => Promise.all(uids.map((uid) => sandbox.book.orders.get(uid)));
/** Amounts of USDC for one WETH, of the order that sells WETH and of the one that buys it. */
const pricesOf = async (uids) => {
  const [offer, bid] = await read(uids);
  return [offer.buyAmount, bid.sellAmount];
};
const isQuoted = (maker) => maker.uids().every((uid) => uid !== undefined);

test('both sides are quoted around the middle, and replaced when it moves', async (context) => {
  await sandbox.pauseSolver();
  const other = await sandbox.createTrader({ WETH: '10', USDC: '10000' });
  await other.placeOrder({ sell: ['1', 'WETH'], for: ['2600', 'USDC'] });
  await other.placeOrder({ sell: ['2400', 'USDC'], for: ['1', 'WETH'] });
  const maker = await open(context, 'USDC');
  await until(() => isQuoted(maker));
  const first = maker.uids();
  assert.deepEqual(await pricesOf(first), ['2507500000000000000000', '2492500000000000000000']);

  await other.placeOrder({ sell: ['2480', 'USDC'], for: ['1', 'WETH'] });
  await until(() => maker.uids().every((uid, i) => uid !== first[i]));
  assert.deepEqual(await pricesOf(maker.uids()), ['2547620000000000000000', '2532380000000000000000']);
  assert.deepEqual(
    (await read(first)).map(({ status }) => status),
    ['cancelled', 'cancelled'],
  );
  await sandbox.resumeSolver();
});

test('a filled order is followed by a new one', async (context) => {
  const maker = await open(context, 'DAI', 2000n * 10n ** 18n);
  await until(() => isQuoted(maker));
  const [offer] = maker.uids();
  // The pools pay 2500 DAI, so that the solver fills the offer at 2006.
  await sandbox.waitFor(offer, 'fulfilled');
  await until(() => maker.uids()[0] !== offer);
});

/**
 * Starts a proxy of the sandbox. It responds with 429 to the next `limited.count` orders that replace another, and drops
 * the responses to the next `limited.lost` orders.
 */
async function openLimitedProxy(context) {
  const limited = { count: 0, lost: 0 };
  const proxy = createServer(async (request, response) => {
    const { method, url, headers } = request;
    const body = Buffer.concat(await request.toArray());
    if (body.includes('replacedOrder') && limited.count-- > 0) return response.writeHead(429).end('{}');
    const forwarded = send(sandbox.url + url, { method, headers }, (answer) => {
      if (method === 'POST' && url === '/api/v1/orders' && limited.lost-- > 0) return request.socket.destroy();
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    response.once('close', () => forwarded.destroy());
    forwarded.end(body);
  });
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return { url: `http://127.0.0.1:${proxy.address().port}`, limited };
}

test('an order that cannot be replaced now is not doubled', async (context) => {
  await sandbox.pauseSolver();
  const { url, limited } = await openLimitedProxy(context);
  const other = await sandbox.createTrader({ WETH: '10', COW: '10000' });
  await other.placeOrder({ sell: ['1', 'WETH'], for: ['2600', 'COW'] });
  await other.placeOrder({ sell: ['2400', 'COW'], for: ['1', 'WETH'] });
  const errors = [];
  const maker = await open(context, 'COW', undefined, { url, onError: (error) => errors.push(error.status) });
  await until(() => isQuoted(maker));
  const first = maker.uids();

  limited.count = 1;
  await other.placeOrder({ sell: ['2480', 'COW'], for: ['1', 'WETH'] });
  await until(() => maker.uids().every((uid, i) => uid !== first[i]));
  const replaced = await read(first);
  assert.deepEqual([errors, replaced.map(({ status }) => status)], [[429], ['cancelled', 'cancelled']]);
  await sandbox.resumeSolver();
});

test('an order whose response was lost is not doubled', async (context) => {
  await sandbox.pauseSolver();
  const { url, limited } = await openLimitedProxy(context);
  limited.lost = 2;
  const errors = [];
  const fallback = 2100n * 10n ** 18n;
  const maker = await open(context, 'COW', fallback, { url, onError: ({ message }) => errors.push(message) });
  await until(() => isQuoted(maker));
  const [{ owner }] = await read(maker.uids());
  const { orders } = await sandbox.book.orders.list({ owner, status: 'open' });
  assert.deepEqual([errors.length, orders.map(({ uid }) => uid).sort()], [2, maker.uids().sort()]);
  await sandbox.resumeSolver();
});

test('the middle ignores the own orders and needs both sides', () => {
  const [base, quote] = ['0xaa', '0xbb'];
  const offer = (price, owner) => ({ owner, sellToken: base, buyToken: quote, sellAmount: '1000', buyAmount: price });
  const bid = (price, owner) => ({ owner, sellToken: quote, buyToken: base, sellAmount: price, buyAmount: '1000' });
  const unit = 10n ** 15n;
  assert.equal(middleOf([offer('30', 'x'), bid('20', 'x'), offer('21', 'me'), bid('10', 'y')], base, 'me'), 25n * unit);
  assert.equal(middleOf([offer('30', 'x'), bid('20', 'me')], base, 'me'), undefined);
});
