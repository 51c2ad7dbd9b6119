import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApi, createOrderBook } from 'intentbook';
import { composeApis, createAccounts } from 'intentbook/accounts';
import { createExplorer } from 'intentbook/explorer';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import type { Sandbox } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import { serve } from 'intentbook/server';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, launchChromium, openPage, SKIP_REASON } from '../../support/browser.ts';

describe.skipIf(CHROMIUM === undefined)(`explorer market data${SKIP_REASON}`, () => {
  let browser: Browser;
  let sandbox: Sandbox;
  const pages: Page[] = [];

  beforeAll(async () => {
    [browser, sandbox] = await Promise.all([launchChromium(), createSandbox({ chain: 'simulated' })]);
  });
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close();
  });
  afterAll(async () => {
    await browser?.close();
    await sandbox?.close();
  });

  async function show(fragment: string, url = sandbox.url) {
    const observed = await openPage(browser, `${url}/${fragment}`);
    pages.push(observed.page);
    await observed.page.locator('main h1').waitFor();
    return observed;
  }

  const textOf = async (page: Page) => ((await page.locator('main').textContent()) ?? '').replaceAll('\u00a0', ' ');
  const token = (symbol: string) => sandbox.token(symbol).address;

  it('pair: shows the suggested slippage tolerance', async () => {
    const { page, problems } = await show(`#/pairs/${token('WETH')}/${token('USDC')}`);
    expect(await textOf(page)).toMatch(/Suggested slippage tolerance: [\d.]+ % \((?:from the volatility|the default)/);
    expect(problems).toEqual([]);
  });

  it('pools: shows value, volume and yield, or why a server has none', async () => {
    const { page, problems } = await show('#/pools');
    const row = await page.locator('tbody tr').first().textContent();
    expect(row).toMatch(/^WETH \/ \w+0x\w{4}…\w{4} copy (?:Block explorer ↗)?Simulated pools\$\d+/);
    expect(await page.locator('tbody a').first().getAttribute('href')).toMatch(/^#\/pairs\/0x\w{40}\/0x\w{40}$/);
    await using server = await closing(serve({ port: 0, db: ':memory:' }));
    const { page: other, problems: found } = await show('#/pools', server.url);
    expect(await textOf(other)).toContain('An operator enables pools');
    expect([...problems, ...found]).toEqual([]);
  });

  it('account: shows the balances of native currency and of the tokens of its orders', async () => {
    const trader = await sandbox.createTrader({ WETH: '3' });
    await trader.placeOrder({ sell: ['1', 'WETH'], for: ['9000', 'USDC'] });
    const { page, problems } = await show(`#/accounts/${trader.address}`);
    await page.getByRole('heading', { name: 'Balances' }).waitFor();
    await page.getByText('$7,500').waitFor();
    expect(await textOf(page)).toMatch(/100 ETH.*3 WETH ≈ \$7,500/);
    const { page: other } = await show(`#/accounts/0x${'ab'.repeat(20)}`);
    expect(await other.getByRole('heading', { name: 'Balances' }).count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it('deliveries: lists dead ones for an operator, and retries one or all', async () => {
    const row = (seq: number) => ({
      seq,
      account: `0x${'cd'.repeat(20)}`,
      channel: 'webhook',
      attempts: 9,
      error: 'status 500',
    });
    const dead = new Map([1, 2, 3].map((seq) => [seq, row(seq)]));
    const { page, problems } = await show('#/deliveries');
    await page.route('**/restricted/deliveries**', async (route) => {
      const { pathname, searchParams } = new URL(route.request().url());
      expect(route.request().headers()['authorization']).toBe('Bearer sandbox');
      if (!pathname.endsWith('/replay')) return route.fulfill({ json: [...dead.values()] });
      const seq = searchParams.get('seq');
      if (seq === null) dead.clear();
      else dead.delete(Number(seq));
      return route.fulfill({ json: { replayed: 1 } });
    });
    await page.getByLabel('Operator token').fill('sandbox');
    await page.keyboard.press('Enter');
    const rows = page.locator('tbody tr');
    await rows.nth(2).waitFor();
    expect(await rows.first().textContent()).toContain('webhook9status 500');
    await rows.first().getByRole('button', { name: 'Retry' }).click();
    await rows.nth(2).waitFor({ state: 'detached' });
    expect(await rows.first().textContent()).toMatch(/^2/);
    await page.getByRole('button', { name: 'Retry all' }).click();
    await page.getByText('No delivery is dead.').waitFor();
    await page.unroute('**/restricted/deliveries**');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText('No delivery is dead.').waitFor(); // of the sandbox itself
    expect(problems).toEqual([]);
  });

  it('token: shows the largest holders if a source has them', async () => {
    const book = createOrderBook({ chainId: 1, store: memoryStore() });
    const holder = '0x00000000000000000000000000000000000000f7';
    const holders = { name: 'test', topHolders: () => [{ address: holder, balance: '12' } as const] };
    const accounts = createAccounts({
      books: [book],
      store: memoryAccountStore(),
      tokenHolders: [holders],
      fundingInterval: 'off',
    });
    await book.start();
    await accounts.start();
    const api = composeApis(createExplorer({ books: [{ book }], accounts }), createApi(book));
    await using server = await listening(createServer(nodeHandler(api)));
    const { page, problems } = await show(`explorer#/tokens/0x${'aa'.repeat(20)}`, server.url);
    await page.getByRole('heading', { name: 'Largest holders' }).waitFor();
    expect(await page.locator(`a[href="#/accounts/${holder}"]`).count()).toBe(1);
    expect(problems).toEqual([]);
    await accounts.close();
    await book.close();
  });

  it.each([
    [true, ['API reference', 'OpenAPI']],
    ['openapi', ['OpenAPI']],
    [false, []],
  ] as const)('links the documents of an interface with docs: %s', async (docs, links) => {
    const explorer = createExplorer({ books: [{ book: sandbox.book }], docs });
    await using server = await listening(createServer(nodeHandler(composeApis(explorer, createApi(sandbox.book)))));
    const { page } = await show('explorer#/', server.url);
    expect(await page.getByRole('navigation', { name: 'Reference' }).getByRole('link').allTextContents()).toEqual(
      links,
    );
  });

  it('auction: links the auctions beside one that have a competition', async () => {
    const trader = await sandbox.createTrader({ WETH: '2' });
    for (const amount of ['1', '0.9']) {
      await sandbox.waitFor(await trader.placeOrder({ sell: [amount, 'WETH'], for: ['2000', 'USDC'] }), 'fulfilled');
    }
    const { page, problems } = await show('#/auctions/latest');
    const title = (await page.locator('h1').textContent()) ?? '';
    expect(await textOf(page)).not.toContain('Next: ');
    await page.locator('p', { hasText: 'Previous: ' }).getByRole('link').click();
    const next = page.locator('p', { hasText: 'Next: ' }).getByRole('link', { name: title.replace('Auction ', '') });
    await next.waitFor();
    await page.getByRole('heading', { name: 'Solutions' }).waitFor();
    expect(problems).toEqual([]);
  });

  it('token: has its logo, which is a part of the data', async () => {
    const weth = '0xfff9976782d46cc05630d1f6ebab18b2324d6b14';
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"><circle r="2"/></svg>';
    const tokenLogos = { [weth]: `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}` };
    const book = { chain: 'sepolia', tokenLogos, store: memoryStore() };
    await using server = await closing(serve({ port: 0, books: [book] }));
    const { page, problems } = await show(`#/pairs/${weth}/0xbe72e441bf55620febc26715db68d3494213d8cb`, server.url);
    await page.locator('img.icon').waitFor();
    const image = "document.querySelector('img.icon')";
    expect(await page.evaluate(`${image}.decode().then(() => ${image}.naturalWidth)`)).toBe(4);
    expect(problems).toEqual([]);
  });

  it('order: is accepted, and waits for its owner, until its pre-signature', async () => {
    const trader = await sandbox.createTrader({ WETH: '1' });
    const pending = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['9000', 'USDC'] }, { scheme: 'presign' });
    const { page } = await show(`#/orders/${pending}`);
    const text = await textOf(page);
    expect(text).toContain('Waiting for the owner’s signature on chain');
    expect(text).toMatch(/Accepted/);
    expect(text).not.toContain('Signed and accepted');
  });

  it('account: names the contracts of the protocol', async () => {
    const { page } = await show(`#/accounts/${sandbox.settlementContract}`);
    expect(await textOf(page)).toContain('Settlement contract');
    expect(await textOf((await show(`#/accounts/${sandbox.vaultRelayer}`)).page)).toContain('Vault relayer');
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
