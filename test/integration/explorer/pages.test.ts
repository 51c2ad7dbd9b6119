import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Hex } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { composeApis } from 'intentbook/accounts';
import { createExplorer } from 'intentbook/explorer';
import { memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import type { Sandbox } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import { serve } from 'intentbook/server';
import type { Browser, Page } from 'playwright-core';
import { getAddress } from 'viem';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { PageOptions } from '../../support/browser.ts';
import {
  CHROMIUM,
  findViolations,
  launchChromium,
  openPage,
  PHONE,
  SKIP_REASON,
  scrollsSideways,
} from '../../support/browser.ts';
import { account, signOrder } from '../../support/orders.ts';

const REFERRER = '0x00000000000000000000000000000000000000f1';
const HOOK = '0x00000000000000000000000000000000000000f2';
const APP_DATA = JSON.stringify({
  appCode: 'pages test',
  metadata: {
    quote: { slippageBips: 50 },
    referrer: { address: REFERRER },
    partnerFee: { volumeBps: 25, recipient: REFERRER },
    hooks: { pre: [{ target: HOOK, callData: '0x1234', gasLimit: '21000' }] },
  },
});

describe.skipIf(CHROMIUM === undefined)(`explorer pages${SKIP_REASON}`, () => {
  let browser: Browser;
  let sandbox: Sandbox;
  let owner: Hex;
  let filled: Hex;
  let open: Hex;
  let transaction: Hex;
  const pages: Page[] = [];

  beforeAll(async () => {
    [browser, sandbox] = await Promise.all([launchChromium(), createSandbox({ chain: 'simulated' })]);
    const trader = await sandbox.createTrader({ WETH: '10', USDC: '100000' });
    const quote = await sandbox.quote(trader, { sell: ['1', 'WETH'], for: 'USDC' }, { appData: APP_DATA });
    owner = trader.address;
    filled = await trader.placeOrder(quote, { slippageBps: 50 });
    await sandbox.waitFor(filled, 'fulfilled');
    open = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['9000.5', 'USDC'] });
    await trader.placeOrder({ sell: ['1000', 'USDC'], for: ['1', 'WETH'] });
    const [trade] = await sandbox.book.trades.list({ orderUid: filled });
    transaction = trade?.txHash ?? '0x';
  });
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close();
  });
  afterAll(async () => {
    await browser?.close();
    await sandbox?.close();
  });

  async function show(fragment: string, options: PageOptions = {}, url = sandbox.url) {
    const observed = await openPage(browser, `${url}/${fragment}`, options);
    pages.push(observed.page);
    await observed.page.locator('main h1').waitFor();
    return observed;
  }

  /** Opens another view of the page and waits until it is rendered. */
  async function goTo(page: Page, fragment: string) {
    await page.evaluate(
      `document.getElementById('main').replaceChildren(); location.hash = ${JSON.stringify(fragment)}`,
    );
    await page.locator('main h1').waitFor();
  }

  const textOf = async (page: Page) => ((await page.locator('main').textContent()) ?? '').replaceAll('\u00a0', ' ');
  const token = (symbol: string) => sandbox.token(symbol).address;

  it('E1: shows amounts in token units with symbols, and all digits on hover', async () => {
    const { page } = await show(`#/orders/${open}`);
    const amount = page.locator('.amount', { hasText: '9,000.5' }).first();
    expect(await amount.textContent()).toBe('9,000.5 USDC');
    expect(await amount.getAttribute('title')).toBe(
      '9,000.5 USDC (9\u202f000\u202f500\u202f000\u202f000\u202f000\u202f000\u202f000 atoms)',
    );
    expect(await textOf(page)).not.toMatch(/× 10|atoms of/);
  });

  it('E2: shows limit price, execution price, surplus, fee and dollars', async () => {
    const { page } = await show(`#/orders/${filled}`);
    await page.locator('.usd', { hasText: '$2,500' }).first().waitFor();
    const text = await textOf(page);
    expect(text).toMatch(/Limit price1 WETH = 2,4\d\d\.?\d* USDC · 1 USDC = 0\.0004\d+ WETH/);
    expect(text).toMatch(/Execution price1 WETH = 2,4\d\d\.?\d* USDC/);
    expect(text).toMatch(/Surplus[\d.]+ USDC ≈ \$[\d.]+ \(0\.\d+ % of the limit\)/);
    expect(text).toMatch(/Fee[\d.]+ WETH/);
  });

  it('E2: shows each fill with its time, price, surplus and solver', async () => {
    const { page } = await show(`#/orders/${filled}`);
    const cells = page.locator('section', { hasText: 'Fills' }).locator('tbody td');
    await cells.first().waitFor();
    const texts = (await cells.allTextContents()).map((text) => text.replaceAll('\u00a0', ' '));
    const [time, , , price, surplus, solver] = texts;
    expect(time).toMatch(/\d{4}.*\d:\d\d.*\((now|\d+ .* ago)\)/); // a date, and the relative time
    expect(price).toMatch(/^2,4\d\d\.?\d* USDC$/);
    expect(surplus).toMatch(/^[\d.]+ USDC \(0\.\d+ %\)$/);
    expect(solver).toBe('Sandbox solver');
    const link = cells.getByRole('link', { name: 'Sandbox solver' });
    expect(await link.getAttribute('title')).toBe(getAddress(sandbox.solverAddress));
    expect(await textOf(page)).toMatch(/fulfilled sell market order|fulfilled sell limit order/);
  });

  it('E2: shows why an order is still open', async () => {
    await sandbox.book.auctions.current(); // the newest auction has the order
    const { page } = await show(`#/orders/${open}`);
    await page.getByText('% worse than the limit').waitFor();
    const text = await textOf(page);
    expect(text).toMatch(/Market price1 WETH ≈ 2,500 USDC by dollar prices, [\d.]+ % worse than the limit/);
    expect(text).toMatch(/In the competitionin auction \d+; no solver has filled it/);
  });

  it('E3: keeps the text and the caret of a filter that is typed while the page is drawn again', async () => {
    const { page } = await show('#/orders');
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/api/v1/orders?**', async (route) => {
      await held;
      await route.continue();
    });
    await page.getByLabel('Kind').selectOption('sell');
    await page.waitForURL(/kind=sell/);
    await page.getByLabel('Buy token').pressSequentially('usc');
    await page.keyboard.press('ArrowLeft');
    release();
    await page.locator('#main:not([aria-busy])').waitFor();
    await page.keyboard.type('d');
    expect(await page.getByLabel('Buy token').inputValue()).toBe('usdc');
  });

  it('E3: keeps filters by status, token, account and kind in the URL', async () => {
    const { page, problems } = await show('#/orders');
    expect(await page.locator('tr[data-uid]').count()).toBe(3);
    await page.getByLabel('Status').selectOption('open');
    await page.waitForURL(/status=open/);
    await page.locator('tr[data-uid]').nth(1).waitFor();
    await page.getByLabel('Kind').selectOption('sell');
    await page.waitForURL(/kind=sell/);
    await page.getByLabel('Sell token').fill('weth');
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`sellToken=${token('WETH')}`));
    await page.reload();
    await page.locator(`tr[data-uid="${open}"]`).waitFor();
    expect(await page.locator('tr[data-uid]').count()).toBe(1);
    await page.locator('[name=owner]').fill(owner);
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`owner=${owner}`));
    expect(problems).toEqual([]);
  });

  it('E4: searches symbols, accounts, transactions and auctions in all books', async () => {
    const { page, problems } = await show('#/');
    const cases = [
      ['usdc', 'Token USDC'],
      [owner, 'Account'],
      [transaction, 'Settlement'],
      [open, 'Order'],
      ['#1', /Auction #1|Search/],
    ] as const;
    for (const [query, title] of cases) {
      await page.keyboard.press('/');
      await page.keyboard.type(query);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
    }
    expect(problems).toEqual([]);
  });

  it('E4: finds an order of another book', async () => {
    await using server = await closing(
      serve({
        port: 0,
        books: [
          { chain: 'mainnet', db: ':memory:' },
          { chain: 'sepolia', db: ':memory:' },
        ],
      }),
    );
    const order = await signOrder(account(5), { validTo: Math.floor(Date.now() / 1000) + 3600 });
    const result = await server.deployments[1]?.book.orders.submit(order);
    if (result?.status !== 'accepted') throw new Error('the order must be accepted');
    const { page, problems } = await show('#/mainnet', {}, server.url);
    await page.keyboard.press('/');
    await page.keyboard.type(result.uid);
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`#/sepolia/orders/${result.uid}`));
    await page.getByRole('heading', { name: 'History' }).waitFor();
    expect(problems).toEqual([]);
  });

  it('E5: shows charts of orders, statuses, fill times, volume and solvers', async () => {
    const { page } = await show('#/');
    const text = await textOf(page);
    for (const title of ['Orders and fills', 'Status of the newest 3', 'Time to fill', 'Volume by', 'Auctions won']) {
      expect(text).toContain(title);
    }
    expect(await page.locator('svg.chart').getAttribute('aria-label')).toBe('3 orders and 1 fill in the last hour');
    expect(text).toMatch(/1 WETH\$2,500 · 1 fill(?!s)/);
    const starts = await page.evaluate<number[]>(
      "[...document.querySelector('.shares').querySelectorAll('.bar')].map((bar) => bar.getBoundingClientRect().left)",
    );
    expect(new Set(starts).size).toBe(1);
    await page.getByRole('link', { name: 'Last day' }).click();
    await page.getByText('in the last day').first().waitFor();
  });

  it('E6: shows settlements with solver, trades and prices, and competitions', async () => {
    const { page, problems } = await show(`#/transactions/${transaction}`);
    const text = await textOf(page);
    expect(text).toContain(`SolverSandbox solver ${getAddress(sandbox.solverAddress)}`);
    expect(text).toMatch(/Trades1/);
    expect(text).toMatch(/WETH.*USDC/);
    await page
      .locator('a', { hasText: /^#\d+$/ })
      .first()
      .click();
    await page.getByRole('heading', { name: 'Solutions' }).waitFor();
    const competition = await textOf(page);
    expect(competition).toContain('winner');
    expect(competition).toMatch(/[\d.]+ ETHwinner/); // the unit of the score
    expect(problems).toEqual([]);
  });

  it('E7: links tokens, accounts and transactions, and the block explorer of a public chain', async () => {
    const { page } = await show(`#/transactions/${transaction}`);
    // A sandbox has no public block explorer.
    expect(await page.locator('a.external').count()).toBe(0);
    expect(await page.locator(`a[href="#/tokens/${token('USDC')}"]`).count()).toBeGreaterThan(0);
    await using server = await closing(serve({ port: 0, chain: 'mainnet', db: ':memory:' }));
    const { page: other } = await show(`#/accounts/${owner}`, {}, server.url);
    const link = other.locator('a.external');
    expect(await link.getAttribute('href')).toBe(`https://etherscan.io/address/${owner}`);
    expect(await link.getAttribute('rel')).toBe('noreferrer noopener');
  });

  it('E8: decodes app data and shows human times', async () => {
    const { page } = await show(`#/orders/${filled}`);
    const text = await textOf(page);
    expect(text).toContain('Slippage0.5 % (50 bps)');
    expect(text).toContain('Partner fee0.25 % (25 bps) of volume to 0x0000…00f1');
    expect(text).toContain('Hooks beforecalls 0x0000…00F2, gas limit 21000, 0x1234');
    expect(text).toContain('Referrer0x0000…00f1');
    expect(text).toMatch(/Expires.*\d{4}.* \(in \d+ minutes\)/);
    expect(text).not.toContain('seconds since 1970');
  });

  it('E9: shows an order as a card of two lines on a phone', async () => {
    const { page } = await show('#/orders', { size: PHONE });
    const row = await page.locator('tr[data-uid]').first().boundingBox();
    expect(row?.height).toBeLessThan(80);
    expect(await page.locator('tr[data-uid] .state').first().isVisible()).toBe(true);
  });

  it('E10: shows statuses as labels of different colours on one line', async () => {
    const { page } = await show('#/orders');
    const colours = await page.evaluate<string[]>(
      "[...document.querySelectorAll('tbody .status')].map((label) => getComputedStyle(label).backgroundColor)",
    );
    expect(new Set(colours).size).toBe(2);
    const uid = await page.locator('td.uid').first().boundingBox();
    expect(uid?.height).toBeLessThan(50);
  });

  it('E11: offers a retry after an error and explains an empty list', async () => {
    await using server = await closing(serve({ port: 0, db: ':memory:' }));
    const { page } = await show('#/', {}, server.url);
    expect(await textOf(page)).toContain(`curl -X POST ${server.url}/api/v1/orders`);
    await page.route('**/explorer/data/0/competitions', (route) => route.abort());
    await page.goto(`${server.url}/#/auctions`);
    await page.getByText('The server is not reachable.').waitFor();
    await page.unroute('**/explorer/data/0/competitions');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Competitions' }).waitFor();
  });

  it('E12, E13, E14: pages have a description and an icon, and the API reference has version and dark mode', async () => {
    const { page, problems } = await show('#/');
    expect(await page.locator('meta[name=description]').getAttribute('content')).toContain('order book');
    expect((await fetch(`${sandbox.url}/favicon.ico`)).status).toBe(204);
    const version = await page.locator('#deployed').textContent();
    expect(version).toMatch(/^intentbook \d+\.\d+\.\d+/);
    const { page: docs, problems: found } = await openPage(browser, `${sandbox.url}/docs`, { dark: true });
    pages.push(docs);
    await docs.locator('.opblock').first().waitFor();
    expect(await docs.locator('header').textContent()).toContain(version);
    const ground = await docs.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    expect(ground).toBe('rgb(16, 21, 20)');
    expect([...problems, ...found]).toEqual([]);
  });

  it('pair: shows the depth of open orders', async () => {
    const { page, problems } = await show(`#/pairs/${token('WETH')}/${token('USDC')}`);
    const prices = await page.locator('svg.chart').first().getAttribute('aria-label');
    expect(prices).toMatch(/^Prices of WETH \/ USDC: 1 fill, last 2,4\d\d/);
    const swapped = await show(`#/pairs/${token('USDC')}/${token('WETH')}`);
    expect(await swapped.page.locator('svg.chart').first().getAttribute('aria-label')).toMatch(/1 fill, last 0\.0004/);
    const label = await page.locator('svg.chart').last().getAttribute('aria-label');
    expect(label).toBe('Depth of WETH / USDC: 1 bids, best 1,000; 1 offers, best 9,000.5');
    expect(problems).toEqual([]);
  });

  it('renders a heading and no error for malformed addresses and missing entries', async () => {
    const { page, problems } = await show('#/orders');
    const missing = `#/transactions/0x${'ab'.repeat(32)}`;
    const cases = [
      '#/%E0%A4%A',
      '#/orders/%',
      '#/?x=%E0%A4%A',
      '#//////',
      '#/auctions/99999',
      missing,
      '#/tokens/0xzz',
    ];
    for (const fragment of cases) {
      await goTo(page, fragment);
      expect([fragment, await page.locator('h1').count(), problems]).toEqual([fragment, 1, []]);
    }
  });

  it('renders an order with any app data', async () => {
    const documents = [
      'null',
      '[]',
      '"text"',
      '{"metadata":null}',
      '{"metadata":{"hooks":{"pre":[null,1,{}],"post":"x"}}}',
      '{"metadata":{"partnerFee":[null,{"bps":"x","recipient":7}],"referrer":[],"replacedOrder":{"uid":{}}}}',
      '{"appCode":{"a":[1]},"metadata":{"orderClass":{"orderClass":[]},"quote":"q"}}',
      'not JSON',
    ];
    const { page, problems } = await show('#/orders');
    for (const fullAppData of documents) {
      await page.route('**/explorer/data/0/orders/*', async (route) => {
        const response = await route.fetch();
        const body = (await response.json()) as { order: object };
        await route.fulfill({ json: { ...body, order: { ...body.order, fullAppData } } });
      });
      await goTo(page, `#/orders/${filled}`);
      await page.getByRole('heading', { name: 'Signature' }).waitFor();
      expect([fullAppData, problems]).toEqual([fullAppData, []]);
      await page.unrouteAll({ behavior: 'wait' });
      await goTo(page, '#/unknown');
    }
  });

  describe.each([
    ['desktop', {}],
    ['phone in dark mode', { size: PHONE, dark: true }],
  ])('%s', (_, options) => {
    it('every page fits, and has no violation of WCAG 2.1 A and AA, console error or foreign request', async () => {
      const views = ['#/', '#/orders?status=open', `#/orders/${filled}`, `#/accounts/${owner}`];
      views.push(`#/tokens/${token('WETH')}`, `#/pairs/${token('WETH')}/${token('USDC')}`);
      views.push(
        `#/transactions/${transaction}`,
        '#/auctions',
        '#/pools',
        '#/deliveries',
        '#/auctions/latest',
        '#/search?q=nothing',
        '#/unknown',
      );
      const { page, problems } = await show('#/orders', options);
      for (const view of views) {
        await goTo(page, view);
        expect([view, await findViolations(page)]).toEqual([view, []]);
        expect([view, await scrollsSideways(page), problems]).toEqual([view, false, []]);
      }
    });
  });

  it('hides competitions before their deadline block where the public routes do', async () => {
    const { book } = sandbox;
    const latest = await book.auctions.latestCompetition();
    const read = async (hideCompetitions: boolean) => {
      const explorer = createExplorer({ books: [{ book, hideCompetitions }] });
      const path = `/explorer/data/0/competitions/${latest?.auctionId}`;
      const request = { method: 'GET', path, query: '', header: () => undefined, body: { type: 'none' } } as const;
      return (await explorer.handle(request)).body;
    };
    expect(await read(false)).toContain(`"auctionId":${latest?.auctionId}`);
    expect(await read(true)).toBe('null');
  });

  it('works below a prefix of an application', async () => {
    const book = createOrderBook({ chainId: 1, store: memoryStore() });
    await book.start();
    const handler = nodeHandler(composeApis(createExplorer({ books: [{ book }] }), createApi(book)), {
      prefix: '/markets/one',
    });
    await using server = await listening(createServer(handler));
    const observed = await openPage(browser, `${server.url}/markets/one/explorer/#/orders`);
    pages.push(observed.page);
    await observed.page.getByText('No orders yet').waitFor();
    await observed.page.getByText('live', { exact: true }).waitFor();
    expect(new URL(observed.page.url()).pathname).toBe('/markets/one/explorer');
    expect(observed.problems).toEqual([]);
    await book.close();
  });
});

async function closing<T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T & AsyncDisposable> {
  const opened = await opening;
  return Object.assign(opened, { [Symbol.asyncDispose]: () => opened.close() });
}

async function listening(server: Server): Promise<{ readonly url: string } & AsyncDisposable> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
