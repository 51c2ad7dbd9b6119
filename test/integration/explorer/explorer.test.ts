import { mkdtemp, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore } from 'intentbook/memory';
import type { RunningServer } from 'intentbook/server';
import { serve } from 'intentbook/server';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { PageOptions } from '../../support/browser.ts';
import { CHROMIUM, launchChromium, openPage, PHONE, SKIP_REASON, scrollsSideways } from '../../support/browser.ts';
import { account, COW, type OrderChoice, signCancellation, signOrder, WETH } from '../../support/orders.ts';

const OWNER = account(77);
const SCRIPT = '<img src=x onerror="document.title=\'taken over\'">';

describe.skipIf(CHROMIUM === undefined)(`explorer${SKIP_REASON}`, () => {
  let server: RunningServer;
  let browser: Browser;
  let screenshots: string;
  const pages: Page[] = [];

  beforeAll(async () => {
    server = await serve({ port: 0, store: memoryStore() });
    browser = await launchChromium();
    screenshots = process.env['TEST_SCREENSHOTS'] ?? (await mkdtemp(join(tmpdir(), 'intentbook-explorer-')));
  }, 60_000);
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  /** Opens a URL of the page. Errors and requests to another origin fail the test. */
  async function open(place: string, options: PageOptions = {}) {
    const { page, problems } = await openPage(browser, `${server.url}/${place}`, options);
    pages.push(page);
    await page.locator('main h1').waitFor();
    return { page, troubles: problems };
  }

  let placed = 0;

  /** Places an order. Each is valid for another second longer, because two equal orders have the same UID. */
  async function place(more: OrderChoice = {}) {
    placed += 1;
    const order = await signOrder(OWNER, { ...more, validTo: Math.floor(Date.now() / 1000) + 3600 + placed });
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(order);
    const answer = await fetch(`${server.url}/api/v1/orders`, { method: 'POST', headers, body });
    expect(answer.status).toBe(201);
    return (await answer.json()) as string;
  }

  async function cancel(uid: string) {
    const body = JSON.stringify({ orderUids: [uid], ...(await signCancellation(OWNER, { orderUids: [uid] })) });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${server.url}/api/v1/orders`, { method: 'DELETE', headers, body });
    expect(answer.status).toBe(200);
  }

  async function shoot(page: Page, name: string) {
    const path = join(screenshots, `${name}.png`);
    await page.screenshot({ path, fullPage: true });
    expect((await stat(path)).size).toBeGreaterThan(5_000);
  }

  const rowOf = (page: Page, uid: string) => page.locator(`tr[data-uid="${uid}"]`);

  test('shows the orders that were read before a page of a filter failed', async () => {
    const order = (await (await fetch(`${server.url}/api/v1/orders/${await place()}`)).json()) as object;
    const named = (n: number) => ({ ...order, uid: `0x${n.toString(16).padStart(112, '0')}`, kind: 'sell' });
    const next = (cursor: number) => ({ link: `<?cursor=${cursor}>; rel="next"` });
    let isBroken = true;
    const prepare = async (page: Page) => {
      await page.route('**/orders/stream?*', (route) => route.abort());
      await page.route('**/orders/by_uids', async (route) => {
        const uids = route.request().postDataJSON() as string[];
        await route.fulfill({ json: uids.map((uid) => ({ order: named(Number(uid)) })) });
      });
      await page.route('**/api/v1/orders?*', async (route) => {
        const cursor = new URL(route.request().url()).searchParams.get('cursor');
        if (cursor === null)
          await route.fulfill({ json: Array.from({ length: 25 }, (_, i) => named(i + 1)), headers: next(1) });
        else if (cursor === '1') await route.fulfill({ json: [named(26)], headers: next(2) });
        else if (isBroken) await route.fulfill({ status: 500, json: {} });
        else await route.fulfill({ json: [named(27)] });
      });
    };
    const { page } = await open('#/orders?kind=sell', { prepare });
    await page.getByRole('button', { name: 'Older orders' }).click();
    const again = page.getByRole('button', { name: 'Try again' });
    await again.waitFor();
    isBroken = false;
    await again.click();
    await rowOf(page, named(27).uid).waitFor();
    expect(await page.locator('tr[data-uid]').count()).toBe(27);
  });

  test('serves the page to browsers and the deployment list to programs', async () => {
    const get = (accept: string) => fetch(server.url, { headers: { accept } });
    const html = await get('text/html,application/xhtml+xml,*/*;q=0.8');
    expect(html.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(html.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(html.headers.get('vary')).toContain('accept');
    for (const accept of ['*/*', 'application/json']) {
      expect(await (await get(accept)).json()).toMatchObject({ name: 'intentbook' });
    }
    expect((await fetch(`${server.url}/explorer/../package.json`)).status).toBe(404);
    expect((await fetch(`${server.url}/explorer/%2e%2e/index.js`)).status).toBe(404);
  });

  test('finds accounts, tokens and orders by the beginning of their address or UID', async () => {
    const uid = await place({ sellToken: WETH, buyToken: COW });
    const search = async (text: string) => (await fetch(`${server.url}/explorer/data/search?q=${text}`)).json();
    const [owner, weth] = [OWNER.address.toLowerCase(), WETH.toLowerCase()];
    expect(await search(owner.slice(0, 8).toUpperCase().replace('0X', '0x'))).toEqual([
      { type: 'account', path: '', id: owner },
    ]);
    expect(await search(weth.slice(0, 12))).toEqual([{ type: 'token', path: '', id: weth, label: 'WETH' }]);
    expect(await search(uid.slice(0, 60))).toEqual([{ type: 'order', path: '', id: uid }]);
    expect(await search('0x1234567')).toEqual([]);
    expect(await search('0x12')).toEqual([]);
  });

  test('shows a new order and updates its row', async () => {
    const { page, troubles } = await open('#/');
    await page.getByText('live', { exact: true }).waitFor();
    const uid = await place();
    const row = rowOf(page, uid);
    await row.getByText('open').waitFor();
    await cancel(uid);
    await row.getByText('cancelled').waitFor();
    await shoot(page, 'newest');
    expect(troubles).toEqual([]);
  });

  // Over HTTP/1.1, a browser opens six connections to a server for all of its tabs.
  test('opens more tabs than a browser has connections, and updates a tab that is visible again', async () => {
    const context = await browser.newContext();
    const show = (page: Page, state: 'hidden' | 'visible') =>
      page.evaluate(`Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' });
        document.dispatchEvent(new Event('visibilitychange'))`);
    const tabs: Page[] = [];
    for (let i = 0; i < 8; i++) {
      const tab = await context.newPage();
      await tab.goto(`${server.url}/#/`, { timeout: 10_000 });
      await tab.getByText('live', { exact: true }).waitFor();
      await show(tab, 'hidden');
      tabs.push(tab);
    }
    const uid = await place();
    const [tab] = tabs as [Page];
    expect(await rowOf(tab, uid).count()).toBe(0);
    await show(tab, 'visible');
    await rowOf(tab, uid).waitFor();
    await context.close();
  });

  test.each([
    ['sepolia/orders/', 'Order'],
    ['orders/', 'Order'],
    ['sepolia/address/', 'Account'],
    ['address/', 'Account'],
  ])('opens the links of CoW Swap: %s', async (start, title) => {
    const id = title === 'Order' ? await place() : OWNER.address;
    const { page, troubles } = await open(`#/${start}${id}`);
    expect(await page.locator('main h1').textContent()).toContain(title);
    expect(troubles).toEqual([]);
  });

  test('finds an order by its UID with the keyboard and shows its details', async () => {
    const appData = JSON.stringify({ appCode: SCRIPT, metadata: { quote: { slippageBips: 50 } } });
    const uid = await place({ appData, sellToken: WETH, buyToken: COW, sellAmount: '1500000000000000000' });
    const { page, troubles } = await open('#/');
    await page.keyboard.press('/');
    await page.keyboard.type(uid);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'History' }).waitFor();
    const text = (await page.locator('main').textContent()) ?? '';
    expect(text).toContain(uid);
    expect(text).toContain('1.5 WETH');
    expect(text).toContain('Signed and accepted');
    expect(text).toContain('50 bps');
    expect(text).toContain('eip712');
    // Content of an order is displayed and never executed.
    expect(text).toContain(SCRIPT);
    expect(await page.title()).toMatch(/^Order/);
    await page.getByText('The document').click();
    await shoot(page, 'order');
    expect(troubles).toEqual([]);
  });

  test('shows the orders of an account, newest first', async () => {
    const uids = [await place({ sellAmount: '1001' }), await place({ sellAmount: '1002' })];
    const { page, troubles } = await open(`#/accounts/${OWNER.address}`);
    const shown = await page
      .locator('tr[data-uid]')
      .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-uid')));
    expect(shown.slice(0, 2).sort()).toEqual(uids.sort());
    await page.getByRole('heading', { name: 'Notifications' }).waitFor();
    await shoot(page, 'account');
    expect(troubles).toEqual([]);
  });

  test('reports unknown and invalid identifiers', async () => {
    const { page, troubles } = await open(`#/orders/0x${'ab'.repeat(56)}`);
    expect(await page.locator('h1').textContent()).toBe('Not found');
    await page.locator('#query').fill('0x12');
    await page.keyboard.press('Enter');
    await page.getByText('112 hex digits').waitFor();
    expect(troubles).toEqual([]);
  });

  test('needs no horizontal scrolling on a phone and supports dark mode', async () => {
    const uid = await place({ sellAmount: String(2n ** 256n - 1n) });
    for (const view of ['#/', `#/orders/${uid}`, `#/accounts/${OWNER.address}`]) {
      const { page } = await open(view, { size: PHONE, dark: true });
      expect(await scrollsSideways(page)).toBe(false);
      const ground = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
      expect(Math.max(...(ground.match(/\d+/g) ?? []).map(Number).slice(0, 3))).toBeLessThan(64);
      await shoot(page, `phone${view.replaceAll(/[^a-z]+/g, '-').slice(0, 12)}`);
    }
  });
});
