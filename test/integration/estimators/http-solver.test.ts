import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Trade } from 'intentbook';
import { httpSolver } from 'intentbook/estimators';
import { afterEach, describe, expect, test } from 'vitest';
import { COW, WETH } from '../../support/orders.ts';
import { quoted, quotesFixture, rejected, SELL, settle, source, watch } from '../../unit/quotes/quotes-fixture.ts';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** A solver whose response the test computes from the request. */
async function engine(
  answer: (question: Record<string, unknown>, response: ServerResponse, request: IncomingMessage) => void,
) {
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    request.on('end', () => answer(JSON.parse(text) as Record<string, unknown>, response, request));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a listening server has an address
}

const TRADE: Trade = {
  sellToken: COW.toLowerCase() as never,
  buyToken: WETH.toLowerCase() as never,
  kind: 'sell',
  amount: 10n ** 21n,
};

function estimateAt(url: string, signal = new AbortController().signal, options = {}) {
  return httpSolver(url, options).estimate(TRADE, { signal, timeout: 1234 });
}

describe('HTTP solver estimator', () => {
  test('requests in atoms and quotes the response of a minimal reference engine', async () => {
    const questions: unknown[] = [];
    const url = await engine((question, response, request) => {
      questions.push([
        request.method,
        request.url,
        request.headers['content-type'],
        request.headers['x-key'],
        question,
      ]);
      const amount = ((BigInt(String(question['amount'])) * 3n) / 10_000n).toString();
      response.end(JSON.stringify({ amount, gas: 120_000, solver: WETH, verified: true, metadata: { hops: 1 } }));
    });
    const solver = httpSolver(`${url}/engine/`, { headers: { 'x-key': 'secret' } });
    const { book } = await quotesFixture({ estimators: [{ ...solver, nativePrice: () => '0.0003' }] });
    const response = await quoted(book, { ...SELL, timeout: 3000 });
    expect(response.verified).toBe(true);
    expect(response.quote.gasAmount).toBe('120000');
    expect(questions).toEqual([
      [
        'POST',
        '/engine/quote',
        'application/json',
        'secret',
        {
          sellToken: COW.toLowerCase(),
          buyToken: WETH.toLowerCase(),
          kind: 'sell',
          amount: SELL.sellAmountBeforeFee,
          timeout: 3000,
          settlementContract: '0x9008d19f58aabd9ed0d60971565aa8510560ab41',
        },
      ],
    ]);
  });

  test('treats 404 and 204 as no route', async () => {
    for (const status of [404, 204]) {
      const url = await engine((_, response) => response.writeHead(status).end());
      expect(await estimateAt(url)).toBeUndefined();
    }
  });

  test('accepts an unsupported token response', async () => {
    const url = await engine((_, response) =>
      response.end(JSON.stringify({ unsupportedToken: COW, reason: 'rebases' })),
    );
    const { book } = await quotesFixture({ estimators: [source('priced', () => undefined), httpSolver(url)] });
    expect(await rejected(book, SELL)).toMatchObject({
      code: 'UnsupportedToken',
      message: expect.stringMatching(/rebases/),
    });
  });

  test.each([
    ['a status of 500', (response: ServerResponse) => response.writeHead(500).end('boom')],
    ['a redirect', (response: ServerResponse) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    ['invalid JSON', (response: ServerResponse) => response.end('boom')],
    ['invalid UTF-8', (response: ServerResponse) => response.end(Buffer.from([0x22, 0xff, 0x22]))],
    ['a closed connection', (response: ServerResponse) => response.destroy()],
    [
      'a truncated body',
      (response: ServerResponse) =>
        response.writeHead(200, { 'content-length': '100' }).write('{"a', () => response.destroy()),
    ],
  ])('reports %s as a failure', async (_, answer) => {
    const url = await engine((_question, response) => void answer(response));
    await expect(estimateAt(url)).rejects.toThrow();
  });

  test('reads an endless response up to the limit, then aborts', async () => {
    let cut: () => void = () => {};
    const isCut = new Promise<void>((resolve) => {
      cut = resolve;
    });
    const url = await engine((_, response) => {
      response.on('close', cut);
      // A callback may run in the same tick: without `setImmediate`, Node.js 24 would not notice the disconnect.
      const more = () => void (response.destroyed || response.write('x'.repeat(1024), () => setImmediate(more)));
      more();
    });
    await expect(estimateAt(url, undefined, { maxBytes: 10_000 })).rejects.toThrow(/at most 10000 bytes/);
    await isCut;
  });

  test.each([
    ['a number', 12],
    ['hex', '0x10'],
    ['an exponent', '1e80'],
    ['more than 256 bits', '9'.repeat(78)],
    ['far more', '9'.repeat(5000)],
    ['zero', '0'],
    ['a sign', '-5'],
    ['nothing', null],
  ])('rejects an amount that is %s', async (_, amount) => {
    const url = await engine((_question, response) => response.end(JSON.stringify({ amount, gas: 1 })));
    const { book, outcomes } = await quotesFixture({
      estimators: [{ ...httpSolver(url, { name: 'solver' }), nativePrice: () => 1 }],
    });
    expect((await rejected(book, SELL)).code).toBe('NoLiquidity');
    expect(outcomes()).toEqual({ solver: 'invalid' });
  });

  test('aborts its request at the deadline', async () => {
    let called: () => void = () => {};
    let left: () => void = () => {};
    const [isCalled, hasLeft] = [
      new Promise<void>((r) => {
        called = r;
      }),
      new Promise<void>((r) => {
        left = r;
      }),
    ];
    const url = await engine((_, response) => {
      response.on('close', left);
      called();
    });
    const { book, clock } = await quotesFixture({ estimators: [{ ...httpSolver(url), nativePrice: () => 1 }] });
    const waiting = watch(rejected(book, SELL));
    await isCalled;
    clock.advance(5_000);
    await hasLeft;
    await settle();
    expect(waiting.value?.code).toBe('NoLiquidity');
  });

  test('sends user and password of its URL as a header and reveals them nowhere else', async () => {
    const authorizations: unknown[] = [];
    const url = await engine((_, response, request) => {
      authorizations.push(request.headers.authorization);
      response.writeHead(authorizations.length === 1 ? 404 : 500).end();
    });
    const solver = httpSolver(url.replace('//', '//me:s%C3%A9cret%21@'));
    const { book, observations } = await quotesFixture({ estimators: [solver] });
    await rejected(book, SELL);
    expect(authorizations[0]).toBe(`Basic ${Buffer.from('me:sécret!').toString('base64')}`);
    expect(observations.length).toBeGreaterThan(0);
    for (const { source: name, cause } of observations) expect(`${name} ${cause}`).not.toMatch(/cret/);
    const own = { headers: { Authorization: 'Bearer own' } };
    await expect(estimateAt(url.replace('//', '//me@'), undefined, own)).rejects.toThrow();
    expect(authorizations.at(-1)).toBe('Bearer own');
  });

  test.each([Number.NaN, 0, -1, 1.5, Number.POSITIVE_INFINITY])('rejects a limit of %s bytes', (maxBytes) => {
    expect(() => httpSolver('http://127.0.0.1', { maxBytes })).toThrow(/maxBytes/);
  });

  test.each(['ftp://example.org', 'example.org', ''])('rejects "%s" as URL', (url) => {
    expect(() => httpSolver(url)).toThrow(TypeError);
  });
});
