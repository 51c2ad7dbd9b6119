import type { Estimator, OrderBook, QuoteRequest, QuoteResponse, QuoteVerifier } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { uniswapV2 } from 'intentbook/estimators';
import { memoryStore } from 'intentbook/memory';
import type { Sandbox } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import { viemQuoteVerifier } from 'intentbook/viem';
import type { Hex } from 'viem';
import { createPublicClient, encodeFunctionData, http, keccak256, parseAbi, toHex } from 'viem';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { getContracts, transact } from '../../../apps/sandbox/deployment.ts';
import { createRpc } from '../../../apps/sandbox/rpc.ts';

const ETHER = 10n ** 18n;
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
/** The manager of the allow list of every sandbox (deployment.ts). */
const MANAGER: Hex = '0x6fb5916c0f57f88004d5b5eb25f6f4d77353a1ed';
/** An account without tokens. */
const STRANGER = `0x${'5a'.repeat(20)}`;
/** The factory of every sandbox (deployment.ts). */
const FACTORY: Hex = `0x${keccak256(toHex('intentbook sandbox uniswap factory')).slice(26)}`;

let sandbox: Sandbox;
const books: OrderBook[] = [];
beforeAll(async () => {
  sandbox = await createSandbox({ solver: 'off' });
});
afterAll(() => sandbox.close());
afterEach(async () => {
  for (const book of books.splice(0)) await book.close();
});

function connect(seen: string[] = []) {
  const client = createPublicClient({ transport: http(sandbox.rpcUrl) });
  return {
    call: client.call,
    request: (args: { method: string; params?: unknown }) => {
      seen.push(args.method);
      return client.request(args as never); // viem's types list the known methods
    },
  };
}

/** Opens a book with the pools of the sandbox. `change` changes the estimates. */
async function open(
  change: (estimate: { amount: bigint; gas: number }) => object = (estimate) => estimate,
  verifier: QuoteVerifier = viemQuoteVerifier(connect()),
): Promise<OrderBook> {
  const pools = uniswapV2(connect(), { factory: FACTORY, bases: [sandbox.token('WETH').address] });
  const estimator: Estimator = {
    name: 'pools',
    async estimate(trade, context) {
      const estimates = await pools.estimate(trade, context);
      return Array.isArray(estimates) ? estimates.map((each) => ({ ...each, ...change(each) })) : estimates;
    },
    nativePrice: () => '1',
  };
  const book = createOrderBook({
    chainId: sandbox.chainId,
    settlementContract: sandbox.settlementContract,
    vaultRelayer: sandbox.vaultRelayer,
    wrappedNative: sandbox.token('WETH').address,
    store: memoryStore(),
    quotes: { estimators: [estimator], gasPrice: '1000000', verifier },
  });
  books.push(book);
  await book.start();
  return book;
}

const sellWeth = (more: Partial<QuoteRequest> = {}): QuoteRequest => ({
  sellToken: sandbox.token('WETH').address,
  buyToken: sandbox.token('USDC').address,
  from: STRANGER,
  kind: 'sell',
  sellAmountAfterFee: String(ETHER),
  ...more,
});

async function quote(book: OrderBook, request: QuoteRequest): Promise<QuoteResponse> {
  const result = await book.quotes.request(request);
  if (result.status === 'rejected') throw result.error;
  return result.quote;
}

describe('quote verification', () => {
  it.each<[string, () => Partial<QuoteRequest>]>([
    ['a sale', () => ({})],
    ['a purchase', () => ({ kind: 'buy', sellAmountAfterFee: undefined, buyAmountAfterFee: '1000000000' })],
    [
      'a sale over two pools',
      () => ({
        sellToken: sandbox.token('USDC').address,
        buyToken: sandbox.token('DAI').address,
        sellAmountAfterFee: '1000000000',
      }),
    ],
    ['a purchase of native currency', () => ({ sellToken: sandbox.token('DAI').address, buyToken: NATIVE })],
    ['a request without an account', () => ({ from: `0x${'00'.repeat(20)}` })],
    ['the settlement contract as receiver', () => ({ receiver: sandbox.settlementContract })],
  ])('verifies %s', async (_, request) => {
    const { verified, quote: order } = await quote(
      await open(),
      sellWeth({ ...request(), priceQuality: 'verified' } as QuoteRequest),
    );
    expect(verified).toBe(true);
    expect(Number(order.gasAmount)).toBeGreaterThan(100_000);
  });

  it('replaces amount and gas by the observed values', async () => {
    const exact = await quote(await open(), sellWeth());
    const low = await quote(await open(({ amount }) => ({ amount: (amount * 9n) / 10n, gas: 1 })), sellWeth());
    const high = await quote(await open(({ amount }) => ({ amount: amount + 5n, gas: 9_000_000 })), sellWeth());
    for (const { verified, quote: order } of [low, high]) {
      expect(verified).toBe(true);
      expect(order.buyAmount).toBe(exact.quote.buyAmount);
      // A balance that becomes zero refunds gas.
      expect(Math.abs(Number(order.gasAmount) - Number(exact.quote.gasAmount))).toBeLessThan(25_000);
    }
    const reverting = await quote(await open(({ amount }) => ({ amount: amount * 1_000_000n })), sellWeth());
    expect(reverting.verified).toBe(false);
  });

  it('does not verify an estimate without calls, and rejects it if the request requires a verified quote', async () => {
    const book = await open(() => ({ interactions: undefined, verified: true }));
    expect(await quote(book, sellWeth())).toMatchObject({ verified: false });
    expect(await book.quotes.request(sellWeth({ priceQuality: 'verified' }))).toMatchObject({
      status: 'rejected',
      error: { code: 'QuoteNotVerified' },
    });
  });

  /** A quote of a market maker, who sells USDC for the WETH of the trade by a separate order. */
  async function rfqQuote(change: (order: Record<string, unknown>) => object = (order) => order, txOrigin?: Hex) {
    const maker = await sandbox.createTrader({ USDC: '10000' });
    const body = maker.createOrder({ sell: ['5000', 'USDC'], for: ['1', 'WETH'] }, { scheme: 'eip712' });
    const { sellToken, buyToken, sellAmount, buyAmount, validTo, partiallyFillable, signature, signingScheme } = body;
    const order = {
      sellToken,
      buyToken,
      sellAmount,
      buyAmount,
      validTo,
      partiallyFillable,
      signature,
      signingScheme,
      receiver: `0x${'00'.repeat(20)}`,
      appData: keccak256(toHex(body.appData)),
      side: body.kind,
      sellTokenSource: body.sellTokenBalance,
      buyTokenDestination: body.buyTokenBalance,
      executedAmount: sellAmount,
    };
    const route = { interactions: [], preInteractions: [], jitOrders: [change(order)] };
    const estimate = { amount: BigInt(body.sellAmount), gas: 300_000, solver: STRANGER, ...route, txOrigin };
    return { estimate, order };
  }

  it.each(['any solver', 'a given account'])('verifies the order of a market maker that %s settles', async (by) => {
    const origin: Hex | undefined = by === 'any solver' ? undefined : `0x${'11'.repeat(20)}`;
    const { estimate, order } = await rfqQuote(undefined, origin);
    for (const verifier of [viemQuoteVerifier(connect()), viemQuoteVerifier(connectWithout('eth_simulateV1'))]) {
      const book = await open(() => estimate, verifier);
      const { verified, quote: quoted } = await quote(book, sellWeth({ priceQuality: 'verified' }));
      expect([verified, quoted.buyAmount]).toEqual([true, order.sellAmount]);
      // Without the order nothing pays the owner.
      const without = await open(() => ({ ...estimate, jitOrders: [] }), verifier);
      expect(await quote(without, sellWeth())).toMatchObject({ verified: false });
    }
  });

  it.each<[string, (order: Record<string, unknown>) => object]>([
    ['another signature', (order) => ({ ...order, sellAmount: String(BigInt(String(order['sellAmount'])) - 1n) })],
    ['another token', (order) => ({ ...order, sellToken: sandbox.token('DAI').address.toLowerCase() })],
  ])('does not verify an order of a market maker with %s', async (_, change) => {
    const { estimate } = await rfqQuote(change);
    expect(await quote(await open(() => estimate), sellWeth())).toMatchObject({ verified: false });
  });

  it('reads the slot of a balance once per token', async () => {
    const seen: string[] = [];
    const countSearches = () => seen.filter((method) => method === 'eth_createAccessList').length;
    const book = await open(undefined, viemQuoteVerifier(connect(seen)));
    await quote(book, sellWeth());
    expect(countSearches()).toBe(1);
    const other = sellWeth({ from: `0x${'5b'.repeat(20)}`, sellAmountAfterFee: String(2n * ETHER) } as QuoteRequest);
    expect(await quote(book, other)).toMatchObject({ verified: true });
    expect(countSearches()).toBe(1);
  });

  it('continues after the manager of the allow list has changed', async () => {
    const { authenticator } = getContracts(sandbox.chainId, sandbox.tokens);
    const rpc = createRpc(sandbox.rpcUrl ?? '');
    const [manager, other] = [MANAGER, `0x${'5d'.repeat(20)}` as const];
    const change = (from: Hex, to: Hex) => {
      const data = encodeFunctionData({ abi: parseAbi(['function setManager(address)']), args: [to] });
      return transact(rpc, { from, to: authenticator, data });
    };
    const book = await open(undefined, viemQuoteVerifier(connect()));
    expect(await quote(book, sellWeth())).toMatchObject({ verified: true });
    await rpc.call('anvil_setBalance', other, '0xffffffffffffffffffffff');
    await change(manager, other);
    expect(await quote(book, sellWeth({ sellAmountAfterFee: String(3n * ETHER) }))).toMatchObject({ verified: true });
    await change(other, manager);
    rpc.close();
  });

  it('links the verified quote to its order', async () => {
    const trader = await sandbox.createTrader({ WETH: '1' });
    const offer = await sandbox.quote(trader, { sell: ['1', 'WETH'], for: 'USDC' });
    expect(offer.verified).toBe(true);
    const uid = await trader.placeOrder(offer);
    expect((await sandbox.book.orders.get(uid))?.quote).toMatchObject({ verified: true });
  });

  /** A node without some methods. */
  function connectWithout(...methods: string[]) {
    const client = connect();
    const request = (args: { method: string; params?: unknown }) => {
      if (!methods.includes(args.method)) return client.request(args);
      return Promise.reject(Object.assign(new Error('method not found'), { code: -32601 }));
    };
    return { request };
  }

  it.each<[string, () => Partial<QuoteRequest>]>([
    ['a sale', () => ({})],
    ['a purchase', () => ({ kind: 'buy', sellAmountAfterFee: undefined, buyAmountAfterFee: '1000000000' })],
    ['a sale for native currency', () => ({ sellToken: sandbox.token('DAI').address, buyToken: NATIVE })],
    ['a request without an account', () => ({ from: `0x${'00'.repeat(20)}` })],
    ['a receiver that is another account', () => ({ receiver: `0x${'5c'.repeat(20)}` })],
  ])('verifies %s on a node without eth_simulateV1', async (_, request) => {
    const asked = sellWeth({ ...request(), priceQuality: 'verified' } as QuoteRequest);
    const exact = await quote(await open(), asked);
    const without = await open(undefined, viemQuoteVerifier(connectWithout('eth_simulateV1')));
    for (let i = 0; i < 2; i++) {
      const { verified, quote: order } = await quote(without, asked);
      expect(verified).toBe(true);
      expect([order.buyAmount, order.kind]).toEqual([exact.quote.buyAmount, exact.quote.kind]);
      // In one transaction, the later calls find warm storage.
      expect(Math.abs(Number(order.gasAmount) - Number(exact.quote.gasAmount))).toBeLessThan(60_000);
    }
  });

  it('does not verify a reverting settlement on a node without eth_simulateV1', async () => {
    const verifier = viemQuoteVerifier(connectWithout('eth_simulateV1'));
    const book = await open(({ amount }) => ({ amount: amount * 1_000_000n }), verifier);
    expect(await quote(book, sellWeth())).toMatchObject({ verified: false });
  });

  it('leaves quotes unverified if the node can simulate neither', async () => {
    const book = await open(undefined, viemQuoteVerifier(connectWithout('eth_simulateV1', 'eth_createAccessList')));
    expect(await quote(book, sellWeth())).toMatchObject({ verified: false });
  });
});
