import { brotliDecompressSync } from 'node:zlib';
import type { Auction, OrderBook, Trade } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { driverEstimator, httpDriver } from 'intentbook/drivers';
import { memoryStore } from 'intentbook/memory';
import { afterEach, describe, expect, test } from 'vitest';
import { address } from '../../conformance/orders.ts';
import type { FetchServer } from '../../support/fetch-server.ts';
import { serveFetch } from '../../support/fetch-server.ts';
import { SEPOLIA } from '../../support/orders.ts';
import { directFixture } from '../http/http-fixture.ts';

interface Received {
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

let server: FetchServer | undefined;
let book: OrderBook | undefined;
afterEach(async () => {
  await server?.close();
  await book?.close();
  [server, book] = [undefined, undefined];
});

/** Starts a driver that responds to every request in the same way. */
async function serve(respond: () => Response) {
  const received: Received[] = [];
  server = await serveFetch(async (request) => {
    const { pathname, search } = new URL(request.url);
    received.push({ path: pathname + search, headers: request.headers, body: await request.text() });
    return respond();
  });
  return { url: server.url, received };
}

const context = { signal: new AbortController().signal };
const auction = { id: 7 } as Auction; // only the id is read
const NO_CALLS = { interactions: [], preInteractions: [], jitOrders: [] };
const BRACE = new TextEncoder().encode('{');
const [SELL, BUY, SOLVER] = [address(0xa), address(0xb), address(0x51)];

describe('HTTP driver', () => {
  test('compresses auctions on request, once for all drivers', async () => {
    const bodies: Uint8Array[] = [];
    const encodings: (string | null)[] = [];
    server = await serveFetch(async (request) => {
      bodies.push(new Uint8Array(await request.arrayBuffer()));
      encodings.push(request.headers.get('content-encoding'));
      return Response.json({ solutions: [], calldata: { internalized: '0x' } });
    });
    const drivers = ['a', 'b'].map((name) => httpDriver(server?.url ?? '', { name, compress: true }));
    const body = new TextEncoder().encode(
      JSON.stringify({ id: '7', orders: Array.from({ length: 500 }, () => 'order') }),
    );
    for (const driver of drivers) await driver.solve({ auction, deadline: 0, body }, context);
    await drivers[0]?.reveal?.({ solutionId: 3, auctionId: 7 }, context);
    expect(encodings).toEqual(['br', 'br', null]);
    const [first = new Uint8Array(), second] = bodies;
    expect(second).toEqual(first);
    expect(first.length).toBeLessThan(body.length / 10);
    expect(new Uint8Array(brotliDecompressSync(first))).toEqual(body);
    expect(() => httpDriver('http://x', { compress: 'br' as never })).toThrow('compress must be a boolean, got br');
  });

  test('sends the requests of production', async () => {
    const { url, received } = await serve(() => Response.json({ solutions: [] }));
    const driver = httpDriver(`${url.replace('//', '//user:secret@')}/base/`, { headers: { 'x-key': 'k' } });
    const body = new TextEncoder().encode('{"id":"7"}');
    expect(await driver.solve({ auction, deadline: 0, body }, context)).toEqual({ solutions: [] });
    await driver.reveal?.({ solutionId: 3, auctionId: 7 }, context);
    await driver.settle({ solutionId: 3, auctionId: 7, submissionDeadlineLatestBlock: 12 }, context);
    const until = Date.parse('2027-01-01T00:00:00.000Z');
    await driver.notify?.({ reason: 'unsettledConsecutiveAuctions', until }, context);
    const notification = received.pop();
    expect([notification?.path, notification?.headers.get('x-auction-id')]).toEqual(['/base/notify', null]);
    expect(JSON.parse(notification?.body ?? '')).toEqual({
      banned: { reason: 'unsettledConsecutiveAuctions', until: '2027-01-01T00:00:00.000Z' },
    });
    expect(received.map(({ path, body: sent }) => [path, JSON.parse(sent)])).toEqual([
      ['/base/solve', { id: '7' }],
      ['/base/reveal', { solutionId: 3, auctionId: '7' }],
      ['/base/settle', { solutionId: 3, auctionId: '7', submissionDeadlineLatestBlock: 12 }],
    ]);
    for (const { headers } of received) {
      expect(headers.get('authorization')).toBe(`Basic ${btoa('user:secret')}`);
      expect([headers.get('x-auction-id'), headers.get('x-key')]).toEqual(['7', 'k']);
    }
    expect(driver.name).toBe(new URL(url).host);
  });

  test.each([null, 'OK', '{ accepted }'])('accepts the response %j to a settlement', async (body) => {
    const { url } = await serve(() => new Response(body, { status: 200 }));
    const request = { solutionId: 3, auctionId: 7, submissionDeadlineLatestBlock: 12 };
    expect(await httpDriver(url).settle(request, context)).toBeUndefined();
  });

  test('accepts a settlement and a notification, although the body of the response does not end', async () => {
    const endless = async () => new Response(new ReadableStream({ start: (body) => body.enqueue(BRACE) }));
    const driver = httpDriver('http://127.0.0.1', { fetch: endless });
    await driver.settle({ solutionId: 3, auctionId: 7, submissionDeadlineLatestBlock: 12 }, context);
    await driver.notify?.({ reason: 'unsettledConsecutiveAuctions', until: 0 }, context);
  });

  test.each([
    [() => Response.json({ kind: 'SolverFailed', description: 'no' }, { status: 400 }), '400 (SolverFailed: no)'],
    [() => new Response('too busy', { status: 429 }), 'responded with status 429'],
    [() => new Response('{ overloaded }', { status: 503 }), 'responded with status 503'],
    [() => new Response('{', { status: 200 }), 'JSON'],
    [() => Response.redirect('http://127.0.0.1:1/', 302), 'fetch failed (unexpected redirect)'],
    [() => new Response('x'.repeat(101), { status: 200 }), 'at most 100 bytes'],
  ])('rejects a response that is not a solution (%#)', async (respond, message) => {
    const { url } = await serve(respond);
    const driver = httpDriver(url, { maxBytes: 100 });
    await expect(driver.reveal?.({ solutionId: 1, auctionId: 7 }, context)).rejects.toThrow(message);
  });

  test('names the reason of the first of several addresses', async () => {
    const refused = new AggregateError([new Error('connect ECONNREFUSED ::1:80')]);
    const fetch = async () => {
      throw new TypeError('fetch failed', { cause: refused });
    };
    const settled = httpDriver('http://localhost', { fetch }).settle({} as never, context);
    await expect(settled).rejects.toThrow(/^fetch failed \(connect ECONNREFUSED ::1:80\)$/);
  });

  test.each([
    [() => httpDriver('ftp://example.org'), 'httpDriver: url must be an http or https URL'],
    [() => httpDriver('http://a', { submissionAddress: '0x1' }), 'submissionAddress must be 0x and 40 hex digits'],
    [() => httpDriver('http://a', { deltas: 'full' as never }), 'deltas must be a boolean, got full'],
    [() => httpDriver('http://a', { maxBytes: 0 }), 'maxBytes must be an integer from 1 up, got 0'],
    [() => driverEstimator('http://a', { gas: 0 }), 'gas must be an integer from 1 up, got 0'],
  ])('rejects malformed options (%#)', (create, message) => {
    expect(create).toThrow(message);
  });
});

describe('driver as an estimator', () => {
  const trade: Trade = { sellToken: SELL, buyToken: BUY, kind: 'sell', amount: 1000n };
  const estimateContext = { ...context, timeout: 2000 };
  const estimate = (url: string, changes: Partial<Trade> = {}) =>
    driverEstimator(url, { now: () => 1_700_000_000_000 }).estimate({ ...trade, ...changes }, estimateContext);

  test('sends the query of production', async () => {
    const { url, received } = await serve(() => Response.json({ kind: 'QuotingFailed', description: '' }));
    expect(await estimate(url)).toBeUndefined();
    const query = `sellToken=${SELL}&buyToken=${BUY}&kind=sell&amount=1000&deadline=2023-11-14T22%3A13%3A22.000Z`;
    expect(received.map(({ path }) => path)).toEqual([`/quote?${query}`]);
  });

  test.each([
    [
      'sell',
      { clearingPrices: { [SELL]: '3', [BUY]: '7' }, solver: SOLVER, gas: 9 },
      { amount: 429n, gas: 9, solver: SOLVER, ...NO_CALLS },
    ],
    [
      'buy',
      { clearingPrices: { [SELL]: '3', [BUY]: '7' }, solver: SOLVER },
      { amount: 2333n, gas: 250_000, solver: SOLVER, ...NO_CALLS },
    ],
    [
      'sell',
      { amount: '77', interactions: [], solver: SOLVER, gas: 5 },
      { amount: 77n, gas: 5, solver: SOLVER, ...NO_CALLS },
    ],
    // Rust writes an absent member as null, and the amounts of production may be hex.
    [
      'sell',
      {
        clearingPrices: { [SELL]: '0x3', [BUY]: '0x7' },
        interactions: [{ target: SOLVER, value: '0x0a', callData: '0x' }],
        solver: SOLVER,
        gas: null,
        txOrigin: null,
      },
      {
        amount: 429n,
        gas: 250_000,
        solver: SOLVER,
        interactions: [{ target: SOLVER, value: '10', callData: '0x' }],
        preInteractions: [],
        jitOrders: [],
      },
    ],
    [
      'sell',
      { clearingPrices: { [SELL]: '3', [BUY]: '7' }, solver: SOLVER, gas: 9, jitOrders: [{ sellAmount: '0x10' }] },
      {
        amount: 429n,
        gas: 9,
        solver: SOLVER,
        interactions: [],
        preInteractions: [],
        jitOrders: [{ sellAmount: '16' }],
      },
    ],
    [
      'sell',
      { amount: null, clearingPrices: { [SELL]: '3', [BUY]: '7' }, interactions: null, solver: SOLVER, gas: 9 },
      { amount: 429n, gas: 9, solver: SOLVER, ...NO_CALLS },
    ],
    [
      'sell',
      { amount: '77', clearingPrices: null, interactions: null, solver: SOLVER, gas: 5 },
      { amount: 77n, gas: 5, solver: SOLVER },
    ],
    [
      'sell',
      {
        amount: '77',
        interactions: [{ target: SOLVER, value: '0', callData: `0x${'00'.repeat(50_000)}` }],
        solver: SOLVER,
        gas: 5,
      },
      { amount: 77n, gas: 5, solver: SOLVER },
    ],
  ] as const)('reads a quote (%s, %#)', async (kind, response, expected) => {
    const { url } = await serve(() => Response.json(response));
    expect(await estimate(url, { kind })).toEqual(expected);
  });

  test('returns the calls of a quote and the orders of its solver, unless there are too many', async () => {
    const [pre, swap] = [1, 2].map((n) => ({ target: address(n), value: '0', callData: '0x12' }));
    const quote = { clearingPrices: { [SELL]: '1', [BUY]: '1' }, preInteractions: [pre], interactions: [swap] };
    const rfq = { ...quote, jitOrders: [{ sellToken: BUY }], txOrigin: SOLVER };
    const many = [{ interactions: Array(64).fill(swap) }, { jitOrders: Array(17).fill({}) }];
    const responses = [quote, rfq, ...many.map((each) => ({ ...quote, ...each }))];
    const { url } = await serve(() => Response.json(responses.shift()));
    const route = { interactions: [swap], preInteractions: [pre] };
    expect(await estimate(url)).toMatchObject({ ...route, jitOrders: [] });
    expect(await estimate(url)).toMatchObject({ ...route, jitOrders: [{ sellToken: BUY }], txOrigin: SOLVER });
    for (const _ of many) expect(await estimate(url)).toEqual({ amount: 1000n, gas: 250_000 });
  });

  test.each([
    ['clearingPrices', { clearingPrices: {} }],
    ['clearingPrices must be positive', { clearingPrices: { [SELL]: '0', [BUY]: '1' } }],
    ['amount must be decimal digits', { amount: 5 }],
  ])('rejects a quote: %s', async (message, response) => {
    const { url } = await serve(() => Response.json(response));
    await expect(estimate(url)).rejects.toThrow(message);
  });

  test.each([
    ['TradingOutsideAllowedWindow', 'TradingOutsideAllowedWindow'],
    ['TokenTemporarilySuspended', 'TokenTemporarilySuspended'],
    ['InsufficientLiquidity', 'InsufficientLiquidity'],
    ['CustomSolverError', 'CustomSolverError'],
    ['QuotingFailed', 'NoLiquidity'],
    ['SolverFailed', 'NoLiquidity'],
    ['DeadlineExceeded', 'NoLiquidity'],
  ])('maps the kind %s to the code %s', async (kind, code) => {
    const { url } = await serve(() => Response.json({ kind, description: 'closed on Sundays' }, { status: 400 }));
    book = createOrderBook({
      chainId: SEPOLIA,
      store: memoryStore(),
      profile: 'production',
      quotes: { gasPrice: '0', estimators: [driverEstimator(url)] },
    });
    await book.start();
    const http = directFixture(createApi(book), () => 0);
    const body = { sellToken: SELL, buyToken: BUY, from: SOLVER, kind: 'sell', sellAmountBeforeFee: '1000' };
    const answer = await http.send('POST', '/api/v1/quote', { body });
    expect(answer.status).toBe(code === 'NoLiquidity' ? 404 : 400);
    expect(answer.json()).toMatchObject({ errorType: code });
  });
});
