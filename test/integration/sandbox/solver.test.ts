import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import type { Address, AuctionOrder, Hex } from 'intentbook';
import type { Sandbox } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import type { Liquidity, NodeClient, Settler, SolvableAuction, SolverEngine } from 'intentbook/solver';
import {
  createDriver,
  createReferenceEngine,
  createSolver,
  fundsReader,
  getExecution,
  httpAuctions,
  httpEngine,
  nodeSettler,
  respectsLimit,
  uniswapV2Liquidity,
} from 'intentbook/solver';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { getContracts } from '../../../apps/sandbox/deployment.ts';
import { loadKeyRing } from '../../../apps/sandbox/keys.ts';
import { createRpc } from '../../../apps/sandbox/rpc.ts';
import { createSimulatedChain } from '../../../apps/sandbox/simulated-chain.ts';
import type { SandboxToken } from '../../../apps/sandbox/tokens.ts';
import { BUY, createOrder, fillAll, SELL } from '../solver/orders.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const TOKENS = ['0x00000000000000000000000000000000000000aa', '0x00000000000000000000000000000000000000bb'] as const;
const NATIVE = TOKENS[0];
const NATIVE_MARKER: Address = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';

/** One pool of the two tokens, without a fee on chain: the state alone. */
function getPool(reserves: readonly [bigint, bigint]): Liquidity {
  const out = (sellToken: Hex, amountIn: bigint) => {
    const [reserveIn, reserveOut] = sellToken === TOKENS[0] ? reserves : [reserves[1], reserves[0]];
    return (amountIn * 997n * reserveOut) / (reserveIn * 1000n + amountIn * 997n);
  };
  return {
    read: async () => ({
      quote: (sellToken, _, amountIn) => out(sellToken, amountIn),
      take: (sellToken, buyToken, amountIn) => {
        return [{ target: sellToken, value: amountIn, callData: `0x${buyToken.slice(2)}` }];
      },
    }),
  };
}

const amount = fc.bigInt({ min: 1n, max: 10n ** 21n });
const anyOrder = fc.record({
  sellsFirst: fc.boolean(),
  kind: fc.constantFrom('sell' as const, 'buy' as const),
  sellAmount: amount,
  buyAmount: amount,
  partiallyFillable: fc.boolean(),
  done: fc.integer({ min: 0, max: 9 }),
  volumeFee: fc.constantFrom(0, 0.005),
});

type AnyOrder = typeof anyOrder extends fc.Arbitrary<infer C> ? C : never;
type Choice = Omit<AnyOrder, 'volumeFee'> & { readonly volumeFee?: number };

function orderOf(
  index: number,
  { sellsFirst, kind, sellAmount, buyAmount, partiallyFillable, done, volumeFee = 0 }: Choice,
): AuctionOrder {
  const [sellToken, buyToken] = sellsFirst ? TOKENS : [TOKENS[1], TOKENS[0]];
  const total = kind === 'sell' ? sellAmount : buyAmount;
  return createOrder(index, {
    sellToken,
    buyToken,
    sellAmount: String(sellAmount),
    buyAmount: String(buyAmount),
    kind,
    partiallyFillable,
    executed: partiallyFillable ? String((total * BigInt(done)) / 10n) : '0',
    protocolFees: volumeFee === 0 ? [] : [{ volume: { factor: volumeFee } }],
  });
}

describe('reference engine', () => {
  it('finds settlements that respect every limit, pay out no more than they take in and keep the fees', async () => {
    const reserve = fc.bigInt({ min: 10n ** 6n, max: 10n ** 24n });
    let settled = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anyOrder, { maxLength: 12 }), fc.tuple(reserve, reserve), async (choices, reserves) => {
        const orders = choices.map((choice, i) => orderOf(i, choice));
        const liquidity = getPool(reserves);
        const auction: SolvableAuction = { id: 1, block: 1, orders, prices: {} };
        const engine = createReferenceEngine({ liquidity, wrappedNative: NATIVE });
        const state = await liquidity.read([], new AbortController().signal);
        for (const { fills, prices, interactions } of await engine.solve(auction, new AbortController().signal)) {
          const net = new Map<string, bigint>(TOKENS.map((token) => [token, 0n]));
          const add = (token: string, atoms: bigint) => net.set(token, (net.get(token) ?? 0n) + atoms);
          for (const fill of fills) {
            const { order, executed } = fill;
            expect(respectsLimit(fill, prices)).toBe(true);
            const total = BigInt(order.kind === 'sell' ? order.sellAmount : order.buyAmount);
            const left = total - BigInt(order.executed);
            expect(executed > 0n && (order.partiallyFillable ? executed <= left : executed === left)).toBe(true);
            const { sold, bought } = getExecution(fill, prices);
            // The limit price, without the arithmetic of the contract.
            expect(sold * BigInt(order.buyAmount) <= bought * BigInt(order.sellAmount)).toBe(true);
            // The fees are left in the contract, in the token of which they are deducted.
            const beforeFees = getExecution({ ...fill, order: { ...order, protocolFees: [] } }, prices);
            add(order.sellToken, beforeFees.sold);
            add(order.buyToken, -beforeFees.bought);
            settled++;
          }
          for (const { target, value } of interactions) {
            const other = target === TOKENS[0] ? TOKENS[1] : TOKENS[0];
            add(target, -value);
            add(other, state.quote(target, other, value));
          }
          for (const atoms of net.values()) expect(atoms >= 0n).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
    expect(settled).toBeGreaterThan(200);
  });

  it.each<[string, Partial<AuctionOrder>, boolean]>([
    ['a sale', { kind: 'sell', sellAmount: '1000', buyAmount: '1000' }, true],
    ['a purchase', { kind: 'buy', sellAmount: '1001', buyAmount: '1000' }, true],
    ['a sale above its price', { kind: 'sell', sellAmount: '1000', buyAmount: '1001' }, false],
  ])('fills %s of equal tokens, or of wrapped for native currency, without liquidity', async (_, terms, isFilled) => {
    const empty: Liquidity = { read: async () => ({ quote: () => 0n, take: () => [] }) };
    const [wrappedNative] = TOKENS;
    const engine = createReferenceEngine({ liquidity: empty, wrappedNative });
    for (const buyToken of [wrappedNative, NATIVE_MARKER]) {
      const orders = [createOrder(1, { sellToken: wrappedNative, buyToken, ...terms })];
      const found = await engine.solve({ id: 1, block: 1, orders, prices: {} }, new AbortController().signal);
      const filled = found.flatMap(({ fills, prices }) => fills.map((fill) => getExecution(fill, prices)));
      expect(filled.map(({ sold, bought }) => [sold, bought])).toEqual(isFilled ? [[1000n, 1000n]] : []);
      // Native currency is unwrapped before it is paid out.
      const calls = found.flatMap(({ interactions }) => interactions.map(({ target }) => target));
      expect(calls).toEqual(isFilled && buyToken === NATIVE_MARKER ? [wrappedNative] : []);
    }
  });

  it('leaves out an order whose owner has no funds, and reads the funds of all orders at once', async () => {
    const choice = { sellsFirst: true, kind: 'sell', sellAmount: 1000n, buyAmount: 1n, done: 0 } as const;
    const orders = [0, 1].map((i) => orderOf(i, { ...choice, partiallyFillable: true }));
    const reads: number[] = [];
    const engine = createReferenceEngine({
      liquidity: getPool([10n ** 9n, 10n ** 9n]),
      wrappedNative: NATIVE,
      async getFunds(read) {
        reads.push(read.length);
        return read.map(({ uid }) => (uid === orders[0]?.uid ? 0n : 1000n));
      },
    });
    const auction: SolvableAuction = { id: 1, block: 1, orders, prices: {} };
    const solutions = await engine.solve(auction, new AbortController().signal);
    expect(solutions.flatMap(({ fills }) => fills.map(({ order }) => order.uid))).toEqual([orders[1]?.uid]);
    expect(reads).toEqual([2]);
  });

  it('stops while it clears a pair when its signal is aborted', async () => {
    const abort = new AbortController();
    let quotes = 0;
    const liquidity: Liquidity = {
      read: async () => ({
        quote() {
          if (quotes++ === 0) setImmediate(() => abort.abort(new Error('the auction is over')));
          return 0n;
        },
        take: () => [],
      }),
    };
    const choice = { sellsFirst: true, kind: 'sell', sellAmount: 10n ** 20n, buyAmount: 1n, done: 0 } as const;
    const orders = Array.from({ length: 50 }, (_, i) => orderOf(i, { ...choice, partiallyFillable: true }));
    const engine = createReferenceEngine({ liquidity, wrappedNative: NATIVE });
    const auction: SolvableAuction = { id: 1, block: 1, orders, prices: {} };
    await expect(engine.solve(auction, abort.signal)).rejects.toThrow('the auction is over');
  });

  it('settles the orders that are left when one of a batch cannot be settled', async () => {
    const sandbox = await open();
    const [good, bad] = [await sandbox.createTrader({ DAI: '100' }), await sandbox.createTrader({ DAI: '100' })];
    const uids = [];
    for (const trader of [good, bad])
      uids.push(await trader.placeOrder({ sell: ['100', 'DAI'], for: ['0.03', 'WETH'] }));
    // The order stays in the auction until the next block, although its owner has nothing left.
    await sandbox.book.auctions.current();
    await bad.approve('DAI', 0);
    await sandbox.settle();
    await sandbox.waitFor(uids[0] ?? '', 'fulfilled');
    await sandbox.waitFor(uids[1] ?? '', 'open');
    const orders = await Promise.all(uids.map((uid) => sandbox.book.orders.get(uid)));
    expect(orders.map((order) => order?.status)).toEqual(['fulfilled', 'open']);
  });
});

async function open(options = {}): Promise<Sandbox> {
  const sandbox = await createSandbox({ solver: 'manual', ...options });
  closing.push(() => sandbox.close());
  return sandbox;
}

/** Listens on a free port until the test ends. */
async function listen(handle: (path: string, body: string) => unknown): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const result = handle(request.url ?? '', Buffer.concat(chunks).toString());
      response.writeHead(result === undefined ? 500 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(result ?? {}));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens
}

/** Network fee of the external engine, in atoms of the sell token. */
const FEE = 10n ** 15n;

/** Connects to the node of a sandbox, and records the methods of its requests. */
function recordRequests(sandbox: Sandbox): { readonly client: NodeClient; readonly methods: string[] } {
  const rpc = createRpc(sandbox.rpcUrl ?? '');
  closing.push(() => rpc.close());
  const methods: string[] = [];
  const client: NodeClient = {
    request(args) {
      methods.push(args.method);
      return rpc.request(args);
    },
  };
  return { client, methods };
}

describe('funds of owners', () => {
  it('are read in one request, and are 0 for a token that reverts', async () => {
    const sandbox = await open({ solver: 'off' });
    const { client, methods } = recordRequests(sandbox);
    const trader = await sandbox.createTrader({ WETH: '2', USDC: '5' });
    await trader.approve('USDC', '3');
    const { settlement, vaultRelayer } = getContracts(sandbox.chainId, sandbox.tokens);
    const tokens = [sandbox.token('WETH').address, settlement, sandbox.token('USDC').address, TOKENS[0]];
    const choice = { sellsFirst: true, kind: 'sell', sellAmount: 1n, buyAmount: 1n, done: 0 } as const;
    const orders = Array.from({ length: 12 }, (_, i): AuctionOrder => {
      const order = orderOf(i, { ...choice, partiallyFillable: true });
      return { ...order, owner: trader.address, sellToken: tokens[i % 4] ?? NATIVE };
    });
    const funds = await fundsReader(client, vaultRelayer)(orders, new AbortController().signal);
    expect(funds.slice(0, 4)).toEqual([2n * 10n ** 18n, 0n, 3n * 10n ** 18n, 0n]);
    expect(funds.slice(8)).toEqual(funds.slice(0, 4));
    expect(methods).toEqual(['eth_call']);
  });
});

describe('liquidity of Uniswap V2', () => {
  /** Opens the liquidity of a sandbox, with 30 tokens that have no pair. */
  async function openLiquidity() {
    const sandbox = await open({ solver: 'off' });
    const { client, methods } = recordRequests(sandbox);
    const { uniswapFactory: factory, settlement: receiver } = getContracts(sandbox.chainId, sandbox.tokens);
    const [weth, usdc] = [sandbox.token('WETH').address, sandbox.token('USDC').address];
    const unknown = Array.from({ length: 30 }, (_, i): Address => `0x${String(i + 1).padStart(40, '0')}`);
    const liquidity = uniswapV2Liquidity(client, { factory, receiver, bases: [weth] });
    return { liquidity, methods, weth, usdc, unknown };
  }

  it('reads all pairs of an auction in a few requests', async () => {
    const { liquidity, methods, weth, usdc, unknown } = await openLiquidity();
    const state = await liquidity.read([usdc, weth, ...unknown], new AbortController().signal);
    // 496 addresses of pairs in four requests, the reserves of one pair in another.
    expect(methods).toEqual(Array.from({ length: 5 }, () => 'eth_call'));
    expect(state.quote(weth, usdc, 10n ** 18n)).toBeGreaterThan(0n);
    expect(state.quote(weth, unknown[0] ?? weth, 10n ** 18n)).toBe(0n);
    methods.length = 0;
    await liquidity.read([usdc, weth], new AbortController().signal);
    expect(methods).toEqual(['eth_call']);
    await expect(liquidity.read([usdc], AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
  });

  it('reads only the pairs of orders, and searches missing ones again after a minute', async () => {
    const { liquidity, methods, weth, usdc, unknown } = await openLiquidity();
    const engine = createReferenceEngine({ liquidity, wrappedNative: weth });
    const orders = unknown.map((buyToken, i) => createOrder(i, { sellToken: usdc, buyToken }));
    const count = async () => {
      methods.length = 0;
      await engine.solve({ id: 1, block: 1, orders, prices: {} }, new AbortController().signal);
      return methods.length;
    };
    // 61 addresses of pairs in one request, the reserves of one pair in another.
    expect(await count()).toBe(2);
    expect(await count()).toBe(1);
    const later = performance.now() + 60_000;
    const now = vi.spyOn(performance, 'now').mockImplementation(() => later);
    try {
      expect(await count()).toBe(2);
    } finally {
      now.mockRestore();
    }
  });
});

describe('solver', () => {
  it('continues when its callbacks throw', async () => {
    const choice = { sellsFirst: true, kind: 'sell', sellAmount: 1000n, buyAmount: 1n, done: 0 } as const;
    const auction = {
      id: 1,
      block: 1,
      prices: {},
      orders: [orderOf(1, { ...choice, partiallyFillable: false })],
      surplusCapturingJitOrderOwners: [],
    };
    let [auctions, results] = [0, 0];
    const failures: string[] = [];
    const solver = createSolver({
      auctions: {
        async current() {
          auctions++;
          if (auctions === 1) throw new Error('the source is down');
          return auction;
        },
      },
      engine: createReferenceEngine({ liquidity: getPool([10n ** 9n, 10n ** 9n]), wrappedNative: NATIVE }),
      settler: { address: NATIVE, simulate: async () => 'execution reverted', submit: () => Promise.reject() },
      interval: 1,
      onFailure(failure) {
        failures.push((failure as Error).message);
        throw new Error('the handler fails');
      },
      onResult() {
        results++;
        throw new Error('the listener fails');
      },
    });
    solver.start();
    await expect.poll(() => auctions).toBeGreaterThan(2);
    await solver.stop();
    expect(results).toBe(1);
    expect(failures).toEqual(['the source is down', 'the listener fails']);
  });

  it('keeps the failures of orders that an auction of another book lacks', async () => {
    const choice = { sellsFirst: true, kind: 'sell', sellAmount: 1000n, buyAmount: 1n, done: 0 } as const;
    const order = orderOf(1, { ...choice, partiallyFillable: false });
    const auctions = [[order], [order], [], [order]];
    let simulations = 0;
    const solver = createSolver({
      auctions: {
        current: async () => ({
          id: 1,
          block: 1,
          prices: {},
          orders: auctions.shift() ?? [],
          surplusCapturingJitOrderOwners: [],
        }),
      },
      engine: createReferenceEngine({ liquidity: getPool([10n ** 9n, 10n ** 9n]), wrappedNative: NATIVE }),
      settler: {
        address: NATIVE,
        async simulate() {
          simulations++;
          return 'execution reverted';
        },
        submit: () => Promise.reject(new Error('no settlement')),
      },
    });
    const counts = [];
    for (let i = 0; i < 4; i++) {
      await solver.run();
      counts.push(simulations);
    }
    expect(counts).toEqual([1, 1, 1, 1]);
  });
});

describe('settler of a node', () => {
  const solution = { prices: {}, fills: [], interactions: [] };

  function getSettler(request: (method: string) => unknown) {
    return nodeSettler({
      client: { request: async ({ method }) => request(method) },
      wallet: { address: NATIVE, sendTransaction: async () => '0x12' },
      timeout: 2_000,
    });
  }

  it('waits for the receipt of a sent transaction while the node fails', async () => {
    let requests = 0;
    const settler = getSettler(() => {
      requests++;
      if (requests < 3) throw new Error('the node is not reachable');
      return requests < 4 ? null : { blockNumber: '0x7', status: '0x1' };
    });
    expect(await settler.submit(solution, 1)).toEqual({ transactionHash: '0x12', block: 7, reverted: false });
  });

  it('requests a receipt less often with time', async () => {
    let requests = 0;
    const settler = getSettler(() => {
      requests++;
      return null;
    });
    await expect(settler.submit(solution, 1)).rejects.toThrow('no receipt after 2000 ms');
    expect(requests).toBeLessThan(15);
  });

  it('ends a request to which the node does not respond', async () => {
    const settler = nodeSettler({
      client: { request: () => new Promise(() => {}) },
      wallet: { address: NATIVE, sendTransaction: async () => '0x12' },
      timeout: 30,
    });
    await expect(settler.simulate(solution)).rejects.toThrow('the node does not respond: ');
    await expect(settler.submit(solution, 1)).rejects.toThrow('no receipt after 30 ms');
    await expect(settler.block?.()).rejects.toThrow('timeout');
  });

  it('distinguishes a node that is not reachable from a settlement that fails', async () => {
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    for (const error of [refused, new TypeError('fetch failed', { cause: refused })]) {
      const settler = getSettler(() => Promise.reject(error));
      await expect(settler.simulate(solution)).rejects.toThrow('the node does not respond: ');
    }
    const reverted = Object.assign(new Error('execution reverted'), { code: 3 });
    expect(await getSettler(() => Promise.reject(reverted)).simulate(solution)).toBe('execution reverted');
  });

  it('gives no URL of the node as a reason', async () => {
    const settler = getSettler(() => {
      throw new Error('HTTP request failed.\n\nURL: https://node.example/v3/secret\nDetails: fetch failed');
    });
    const reason = await settler.simulate(solution);
    expect(reason).toContain('HTTP request failed.');
    expect(reason).not.toContain('secret');
  });
});

describe('solver over HTTP', () => {
  it('reads the auction of a server, settles, and records the competition', async () => {
    const sandbox = await open({ solver: 'off' });
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['2000', 'USDC'] });
    const client = {
      async request(args: { readonly method: string; readonly params?: unknown }) {
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, params: [], ...args });
        const headers = { 'content-type': 'application/json' };
        const response = await fetch(sandbox.rpcUrl ?? '', { method: 'POST', headers, body });
        const { result, error } = (await response.json()) as { result: unknown; error?: { message: string } };
        if (error !== undefined) throw new Error(error.message);
        return result;
      },
    };
    const [weth, usdc] = [sandbox.token('WETH').address, sandbox.token('USDC').address];
    const solver = sandbox.solverAddress;
    // The engine pays with what the settlement contract holds: it has one whole token of each.
    const url = await listen((path, body) => {
      const auction = JSON.parse(body) as { orders: { uid: string; sellAmount: string }[] };
      if (path !== '/solve') return undefined;
      return {
        solutions: auction.orders.map(({ uid: order, sellAmount }) => ({
          id: 1,
          prices: { [weth]: '2100', [usdc]: '1' },
          trades: [{ kind: 'fulfillment', order, executedAmount: String(BigInt(sellAmount) - FEE), fee: String(FEE) }],
          interactions: [
            {
              kind: 'custom',
              target: usdc,
              value: '0',
              callData: `0x40c10f19${sandbox.settlementContract.slice(2).padStart(64, '0')}${(2100n * 10n ** 18n).toString(16).padStart(64, '0')}`,
            },
          ],
        })),
      };
    });
    const external = createSolver({
      auctions: httpAuctions(sandbox.url, { operatorToken: sandbox.operatorToken }),
      engine: httpEngine(url),
      settler: nodeSettler({
        client,
        wallet: {
          address: solver,
          sendTransaction: async (transaction) =>
            (await client.request({
              method: 'eth_sendTransaction',
              params: [{ ...transaction, from: solver }],
            })) as Hex, // a hash
        },
      }),
    });
    const result = await external.run();
    expect(result).toMatchObject({ failed: [], settlements: [{ orders: [uid], reverted: false }] });
    await sandbox.waitFor(uid, 'fulfilled');
    expect((await sandbox.book.orders.get(uid))?.executedFee).not.toBe('0');
    expect(await sandbox.book.auctions.competition(result?.auctionId ?? 0)).toMatchObject({
      solutions: [{ isWinner: true, txHash: result?.settlements[0]?.transactionHash }],
    });
  });

  it.each([
    ['is not an object', []],
    ['has a malformed price', { solutions: [{ prices: { [NATIVE]: -1 }, trades: [], interactions: [] }] }],
    ['has a malformed address', { solutions: [{ prices: { 'not-a-token': '1' }, trades: [], interactions: [] }] }],
  ])('rejects a response that %s', async (_, response) => {
    const url = await listen(() => response);
    const auction = { id: 1, block: 1, orders: [], prices: {} };
    await expect(httpEngine(url).solve(auction, new AbortController().signal)).rejects.toThrow(TypeError);
  });

  it('leaves out a solution that refers to liquidity or to an unknown order', async () => {
    const base = { prices: { [NATIVE]: '1' } };
    const url = await listen(() => ({
      solutions: [
        { ...base, trades: [{ kind: 'fulfillment', order: '0x12', executedAmount: '1' }], interactions: [] },
        { ...base, trades: [], interactions: [{ kind: 'liquidity', id: '7' }] },
      ],
    }));
    const auction = { id: 1, block: 1, orders: [], prices: {} };
    expect(await httpEngine(url).solve(auction, new AbortController().signal)).toEqual([]);
  });

  it('gives an engine the deadline of a driver, without the time of simulations and of its response', async () => {
    const deadlines: string[] = [];
    const url = await listen((_, body) => {
      deadlines.push((JSON.parse(body) as { deadline: string }).deadline);
      return { solutions: [] };
    });
    const settler = nodeSettler({
      client: { request: async () => '0x' },
      wallet: { address: NATIVE, sendTransaction: async () => '0x12' },
    });
    const driver = createDriver({ engine: httpEngine(url, { timeout: 60_000 }), settler });
    const deadline = Date.now() + 30_000;
    const auction = { id: '1', orders: [], tokens: [], deadline: new Date(deadline).toISOString() };
    const body = JSON.stringify(auction);
    await driver.handle(new Request('http://driver/solve', { method: 'POST', body }));
    const start = Date.now();
    await httpEngine(url).solve({ id: 1, block: 1, orders: [], prices: {} }, new AbortController().signal);
    expect(deadlines[0]).toBe(new Date(deadline - 500 - 2000).toISOString());
    expect(Date.parse(deadlines[1] ?? '') - start).toBeGreaterThanOrEqual(10_000);
  });

  it('ends a quote of a driver at its deadline', async () => {
    const deadlines: unknown[] = [];
    const engine: SolverEngine = {
      name: 'slow',
      solve({ deadline }, signal) {
        deadlines.push(deadline);
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          if (signal.aborted || deadline === undefined) reject(signal.reason ?? new Error('no deadline'));
        });
      },
    };
    const settler: Settler = { address: NATIVE, simulate: async () => undefined, submit: () => Promise.reject() };
    const failures: unknown[] = [];
    const driver = createDriver({ engine, settler, onFailure: (failure) => failures.push(failure) });
    const quote = async (more: Record<string, string>) => {
      const query = new URLSearchParams({
        sellToken: TOKENS[0],
        buyToken: TOKENS[1],
        kind: 'sell',
        amount: '1',
        ...more,
      });
      const response = await driver.handle(new Request(`http://driver/quote?${query}`));
      return ((await response.json()) as { kind: string }).kind;
    };
    const deadline = Date.now() + 50;
    expect(await quote({ deadline: new Date(deadline).toISOString() })).toBe('DeadlineExceeded');
    expect(Date.now()).toBeGreaterThanOrEqual(deadline - 1);
    expect(await quote({ deadline: new Date(0).toISOString() })).toBe('DeadlineExceeded');
    expect(failures).toEqual([]);
    expect(await quote({ deadline: 'soon' })).toBe('MalformedRequest');
    expect(await quote({})).toBe('Unknown');
    expect(deadlines).toEqual([deadline, 0, undefined]);
  });

  it('ends an auction of a driver at its deadline, although the simulation does not end', async () => {
    const engine: SolverEngine = { name: 'one', solve: async () => [{ prices: {}, fills: [], interactions: [] }] };
    const settler: Settler = {
      address: NATIVE,
      simulate: () => new Promise(() => {}),
      submit: () => Promise.reject(),
    };
    const failures: unknown[] = [];
    const driver = createDriver({ engine, settler, onFailure: (failure) => failures.push(failure) });
    const deadline = new Date(Date.now() + 50).toISOString();
    const body = JSON.stringify({ id: '1', orders: [], tokens: [], deadline });
    const response = await driver.handle(new Request('http://driver/solve', { method: 'POST', body }));
    expect(await response.json()).toMatchObject({ kind: 'DeadlineExceeded' });
    expect(failures).toEqual([]);
  });

  it('rejects a settlement without a deadline', async () => {
    const engine: SolverEngine = { name: 'one', solve: async () => [{ prices: {}, fills: [], interactions: [] }] };
    const settler: Settler = { address: NATIVE, simulate: async () => undefined, submit: () => Promise.reject() };
    const driver = createDriver({ engine, settler });
    const send = async (path: string, content: object) => {
      const request = new Request(`http://driver/${path}`, { method: 'POST', body: JSON.stringify(content) });
      return (await driver.handle(request)).json();
    };
    const deadline = new Date(Date.now() + 10_000).toISOString();
    await send('solve', { id: '1', orders: [], tokens: [], deadline });
    expect(await send('settle', { auctionId: '1', solutionId: 0 })).toMatchObject({ kind: 'MalformedRequest' });
  });

  it.each(['keep', 'gas', 'maxSolutions', 'maxBytes'])('rejects a driver whose %s is not a number', (name) => {
    const settler: Settler = { address: NATIVE, simulate: async () => undefined, submit: () => Promise.reject() };
    const engine: SolverEngine = { name: 'none', solve: async () => [] };
    expect(() => createDriver({ engine, settler, [name]: Number.NaN })).toThrow(
      `createDriver: ${name} must be an integer from 1 up, got NaN`,
    );
  });

  it('rejects durations that a timer cannot have', () => {
    const [timeout, interval] = [Number.POSITIVE_INFINITY, Number.NaN];
    const client: NodeClient = { request: async () => '0x' };
    const wallet = { address: NATIVE, sendTransaction: async () => '0x12' as const };
    const expected = 'must be an integer from 1 to 2147483647';
    expect(() => httpEngine('http://127.0.0.1', { timeout })).toThrow(`httpEngine: timeout ${expected}, got Infinity`);
    expect(() => httpAuctions('http://127.0.0.1', { timeout })).toThrow(`httpAuctions: timeout ${expected}`);
    expect(() => nodeSettler({ client, wallet, timeout })).toThrow(`nodeSettler: timeout ${expected}`);
    const settler = nodeSettler({ client, wallet });
    const engine: SolverEngine = { name: 'none', solve: async () => [] };
    const auctions = httpAuctions('http://127.0.0.1');
    expect(() => createSolver({ auctions, engine, settler, interval })).toThrow(`createSolver: interval ${expected}`);
  });

  it('reads responses of limited size', async () => {
    const url = await listen(() => ({ solutions: [], padding: 'x'.repeat(1000) }));
    const auction = { id: 1, block: 1, orders: [], prices: {} };
    const tooLarge = 'the response must have at most 1000 bytes';
    await expect(httpEngine(url, { maxBytes: 1000 }).solve(auction, new AbortController().signal)).rejects.toThrow(
      tooLarge,
    );
    await expect(httpAuctions(url, { maxBytes: 1000 }).current()).rejects.toThrow(tooLarge);
    for (const create of [httpEngine, httpAuctions]) {
      expect(() => create(url, { maxBytes: 0 })).toThrow('maxBytes must be an integer from 1 up, got 0');
      expect(() => create('ftp://secret@host')).toThrow(/url must be an http or https URL$/);
    }
  });

  it('reports an engine and a book that fail', async () => {
    const url = await listen(() => undefined);
    const auction = { id: 1, block: 1, orders: [], prices: {} };
    await expect(httpEngine(url).solve(auction, new AbortController().signal)).rejects.toThrow(
      'responded with status 500',
    );
    await expect(httpAuctions(url).current()).rejects.toThrow('/api/v1/auction responded with status 500');
  });
});

it('a settlement of the simulated chain that reverts has no effect', async () => {
  const [sell, buy] = [SELL, BUY].map((address) => {
    return { symbol: address, name: address, address, decimals: 18, price: '1' };
  }) as [SandboxToken, SandboxToken];
  const tokens = [sell, buy];
  const chain = await createSimulatedChain({ chainId: 11155111, tokens, seed: undefined, keys: loadKeyRing() });
  const [funded, other] = [createOrder(1), createOrder(2)];
  await chain.fund(funded.owner, sell, 1000n);
  await chain.approve(funded.owner, sell, 1000n);
  const { settler } = chain.solverParts();
  await expect(settler.submit(fillAll(funded, other), 1)).rejects.toThrow('insufficient allowance');
  expect(await chain.balanceOf(funded.owner, sell)).toBe(1000n);
  expect(await settler.simulate(fillAll(funded))).toBeUndefined();
});
