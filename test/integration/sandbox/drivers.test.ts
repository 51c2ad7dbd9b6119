import type { AuctionRound, DriverSettlement, Hex } from 'intentbook';
import { driverEstimator, httpDriver } from 'intentbook/drivers';
import type { Sandbox } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import type { Liquidity, NodeClient } from 'intentbook/solver';
import { createDriver, createReferenceEngine, nodeSettler } from 'intentbook/solver';
import { afterEach, expect, it } from 'vitest';
import { serveFetch } from '../../support/fetch-server.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const word = (value: bigint | Hex) => BigInt(value).toString(16).padStart(64, '0');

/** Liquidity that mints the token that it sells, at a fixed rate of atoms per atom. */
function mintingLiquidity(receiver: Hex, buyToken: Hex, atoms: bigint, per: bigint): Liquidity {
  const quote = (_: Hex, bought: Hex, amountIn: bigint) => (bought === buyToken ? (amountIn * atoms) / per : 0n);
  return {
    read: async () => ({
      quote,
      take: (sold, bought, amountIn) => {
        const callData: Hex = `0x40c10f19${word(receiver)}${word(quote(sold, bought, amountIn))}`; // mint
        return [{ target: bought, value: 0n, callData }];
      },
    }),
  };
}

function nodeOf(sandbox: Sandbox): NodeClient {
  return {
    async request(args) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, params: [], ...args });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(sandbox.rpcUrl ?? '', { method: 'POST', headers, body });
      const { result, error } = (await response.json()) as { result: unknown; error?: { message: string } };
      if (error !== undefined) throw new Error(error.message);
      return result;
    },
  };
}

/** Starts a driver of the reference engine that pays this number of USDC for one WETH. */
async function startDriver(sandbox: Sandbox, rate: bigint) {
  const [weth, usdc] = [sandbox.token('WETH').address, sandbox.token('USDC').address];
  const [client, solver] = [nodeOf(sandbox), sandbox.solverAddress];
  const liquidity = mintingLiquidity(sandbox.settlementContract, usdc, rate * 10n ** 18n, 10n ** 18n);
  const driver = createDriver({
    engine: createReferenceEngine({ liquidity, wrappedNative: weth }),
    settler: nodeSettler({
      client,
      wallet: {
        address: solver,
        sendTransaction: async (transaction) =>
          // A hash.
          (await client.request({ method: 'eth_sendTransaction', params: [{ ...transaction, from: solver }] })) as Hex,
      },
    }),
  });
  const server = await serveFetch(driver.handle);
  closing.push(() => server.close());
  return server.url;
}

it('auction run: the driver with the better price settles an order on chain, and its trade names the auction', async () => {
  const sandbox = await createSandbox({ solver: 'off' });
  closing.push(() => sandbox.close());
  const [worse, better] = [await startDriver(sandbox, 2050n), await startDriver(sandbox, 2100n)];
  const rounds: AuctionRound[] = [];
  const settlements: DriverSettlement[] = [];
  const run = await sandbox.book.auctions.run({
    drivers: [httpDriver(worse, { name: 'worse' }), httpDriver(better, { name: 'better' })],
    interval: 50,
    submissionBlocks: 100,
    onRound: (round) => rounds.push(round),
    onSettled: (settlement) => settlements.push(settlement),
  });
  const trader = await sandbox.createTrader({ WETH: '1' });
  const uid = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['2000', 'USDC'] });
  await sandbox.waitFor(uid, 'fulfilled');
  const [settled] = rounds.filter(({ solutions }) => solutions.length > 0);
  expect(settled?.problems).toEqual([]);
  expect(settled?.solutions.map(({ driver, isWinner, orders }) => [driver, isWinner, orders])).toEqual([
    ['better', true, [uid]],
    ['worse', false, [uid]],
  ]);
  expect((await sandbox.book.orders.get(uid))?.executedBuyAmount).toBe(String(2100n * 10n ** 18n));
  const competition = await sandbox.book.auctions.competition(settled?.auctionId ?? 0);
  const [trade] = await sandbox.book.trades.list({ orderUid: uid });
  expect(competition).toMatchObject({
    transactionHashes: [trade?.txHash],
    solutions: [{ isWinner: false }, { isWinner: true, txHash: trade?.txHash }],
  });
  await expect
    .poll(() => settlements)
    .toEqual([{ auctionId: settled?.auctionId, driver: 'better', solutionId: expect.any(Number) }]);
  await run.stop();
  expect(sandbox.failures).toEqual([]);
}, 60_000);

it('driver: quotes a trade, and responds to malformed requests with a kind', async () => {
  const sandbox = await createSandbox({ solver: 'off' });
  closing.push(() => sandbox.close());
  const url = await startDriver(sandbox, 2000n);
  const [sellToken, buyToken] = [sandbox.token('WETH').address, sandbox.token('USDC').address];
  const estimator = driverEstimator(url);
  const context = { signal: new AbortController().signal, timeout: 5000 };
  const sale = { sellToken, buyToken, kind: 'sell', amount: 10n ** 18n } as const;
  expect(await estimator.estimate(sale, context)).toEqual({
    amount: 2000n * 10n ** 18n,
    gas: 250_000,
    jitOrders: [],
    preInteractions: [],
    solver: sandbox.solverAddress,
    interactions: [expect.objectContaining({ target: buyToken })],
  });
  // There is no liquidity in this direction.
  expect(await estimator.estimate({ ...sale, sellToken: buyToken, buyToken: sellToken }, context)).toBeUndefined();
  const kindOf = async (path: string, body?: unknown) => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(url + path, init);
    return [response.status, ((await response.json()) as { kind: string }).kind];
  };
  const same = await estimator.estimate({ ...sale, buyToken: sellToken }, context);
  expect(same).toMatchObject({ amount: sale.amount, interactions: [] });
  expect(await kindOf('/quote?kind=sell')).toEqual([400, 'MalformedRequest']);
  expect(await kindOf('/solve', 7)).toEqual([400, 'MalformedRequest']);
  expect(await kindOf('/solve', { id: 'x' })).toEqual([400, 'InvalidAuctionId']);
  expect(await kindOf('/settle', { solutionId: 1, auctionId: '9', submissionDeadlineLatestBlock: 1 })).toEqual([
    400,
    'SolutionNotAvailable',
  ]);
  expect(await kindOf('/other', {})).toEqual([400, 'MalformedRequest']);
}, 60_000);

it('driver: offers the solutions with the best scores, as many as a book accepts', async () => {
  const prices = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [addressOf(i), String(10n ** 18n)]));
  const orders = Array.from({ length: 5 }, (_, i) => ({
    uid: `0x${String(i).padStart(112, '0')}`,
    kind: 'sell',
    sellToken: addressOf(0),
    buyToken: addressOf(i + 1),
    sellAmount: '1000',
    buyAmount: '500',
    executed: '0',
  }));
  const driver = createDriver({
    engine: {
      name: 'one solution for each order',
      async solve(auction) {
        return auction.orders.map((order, i) => ({
          prices: { [order.sellToken]: BigInt(6 + i), [order.buyToken]: 10n },
          fills: [{ order, executed: 1000n }],
          interactions: [],
        }));
      },
    },
    settler: {
      address: addressOf(9),
      simulate: async () => undefined,
      submit: () => Promise.reject(new Error('no settlement')),
    },
  });
  const tokens = Object.entries(prices).map(([address, price]) => ({ address, price, trusted: false }));
  const deadline = new Date(Date.now() + 60_000).toISOString();
  const body = JSON.stringify({ id: '1', orders, tokens, deadline });
  const response = await driver.handle(new Request('http://driver/solve', { method: 'POST', body }));
  const { solutions } = (await response.json()) as { solutions: { orders: object; score: string }[] };
  expect(solutions.map((solution) => [Object.keys(solution.orders), solution.score])).toEqual(
    [4, 3, 2].map((i) => [[orders[i]?.uid], String(100 * (i + 1))]),
  );
});

const addressOf = (n: number): Hex => `0x${String(n + 1).padStart(40, '0')}`;
