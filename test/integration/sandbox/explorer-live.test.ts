import type { Sandbox, Trader } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ObservedPage } from '../../support/browser.ts';
import { CHROMIUM, launchChromium, openPage } from '../../support/browser.ts';

const LIST = '**/api/v1/orders?*';
const TOKENS = '**/explorer/data/*/tokens?*';

/** Replaces the stream of the page by one whose events the test sends. */
const FAKE_STREAM = `
  window.EventSource = class extends EventTarget {
    static CLOSED = 2;
    readyState = 1;
    constructor() { super(); window.stream = this; }
    close() {}
  };`;

let sandbox: Sandbox;
let trader: Trader;
let browser: Browser;

const live = it.skipIf(CHROMIUM === undefined);

beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  sandbox = await createSandbox({ solver: 'manual' });
  trader = await sandbox.createTrader({ WETH: '100' });
  browser = await launchChromium();
});

afterAll(async () => {
  await browser?.close();
  await sandbox?.close();
});

function placeOrder() {
  return trader.placeOrder({ sell: ['1', 'WETH'], for: ['2400', 'USDC'] });
}

/** Opens a list of orders and waits until it is shown. */
async function openList(query = '', prepare?: (page: Page) => Promise<unknown>): Promise<ObservedPage> {
  const opened = await openPage(browser, `${sandbox.url}/#/orders?${query}`, {
    async prepare(page) {
      await page.addInitScript(FAKE_STREAM);
      await prepare?.(page);
    },
  });
  await expect.poll(() => opened.page.evaluate('window.stream !== undefined')).toBe(true);
  await opened.page.locator('main:not([aria-busy])').waitFor();
  return opened;
}

/** Sends an event of the stream to the page. */
function send(page: Page, type: string, data: unknown = {}): Promise<unknown> {
  const event = `new MessageEvent(${JSON.stringify(type)}, { data: ${JSON.stringify(JSON.stringify(data))} })`;
  return page.evaluate(`void stream.dispatchEvent(${event})`);
}

async function sendOrder(page: Page, uid: string): Promise<void> {
  const response = await fetch(`${sandbox.url}/api/v1/orders/${uid}`);
  await send(page, 'order', await response.json());
}

function row(page: Page, uid: string) {
  return page.locator(`tr[data-uid="${uid}"]`);
}

function expectStatus(page: Page, uid: string, status: string) {
  return expect.poll(() => row(page, uid).locator('.status').textContent()).toContain(status);
}

/** Holds the responses to the next requests of a page. */
async function holdResponses(page: Page, pattern: string) {
  const held: { route: Route; response: Awaited<ReturnType<Route['fetch']>> }[] = [];
  await page.route(pattern, async (route) => {
    held.push({ route, response: await route.fetch() });
  });
  return {
    /** Waits until the server has responded to a number of requests. */
    async arrived(count: number) {
      await expect.poll(() => held.length).toBe(count);
    },
    /** Gives a response to the page and waits until the page has handled it. */
    async release(index: number) {
      const { route, response } = held[index] as (typeof held)[number]; // after `arrived`
      await route.fulfill({ response });
      await page.evaluate('new Promise((resolve) => setTimeout(resolve, 50))');
    },
  };
}

live.each([
  ['in the sequence of the requests', [0, 1]],
  ['in reverse', [1, 0]],
] as const)('explorer: the later of two reads after missed changes wins, with responses %s', async (_, sequence) => {
  const uid = await placeOrder();
  const { page, problems } = await openList();
  const lists = await holdResponses(page, LIST);
  await send(page, 'open');
  await lists.arrived(1);
  await sandbox.settle(uid);
  await send(page, 'gap');
  await lists.arrived(2);
  for (const index of sequence) await lists.release(index);
  await expectStatus(page, uid, 'fulfilled');
  expect(problems).toEqual([]);
  await page.close();
});

live('explorer: a list of open orders shows that an order ended before the stream began', async () => {
  const uid = await placeOrder();
  const { page, problems } = await openList('status=open');
  await row(page, uid).waitFor();
  await trader.cancel(uid);
  await send(page, 'open');
  await expectStatus(page, uid, 'cancelled');
  expect(problems).toEqual([]);
  await page.close();
});

live('explorer: an order that ends while its tokens are read is not added to a list of open orders', async () => {
  const { page, problems } = await openList('status=open&kind=sell');
  const uid = await placeOrder();
  const tokens = await holdResponses(page, TOKENS);
  await sendOrder(page, uid);
  await trader.cancel(uid);
  await sendOrder(page, uid);
  await tokens.arrived(1);
  await tokens.release(0);
  expect(await row(page, uid).count()).toBe(0);
  expect(problems).toEqual([]);
  await page.close();
});

live('explorer: an order that a reorganisation removed disappears from the list', async () => {
  const [removed, kept] = [await placeOrder(), await placeOrder()];
  const { page, problems } = await openList();
  await row(page, removed).waitFor();
  await page.route(LIST, async (route) => {
    const response = await route.fetch();
    const orders = (await response.json()) as { uid: string }[];
    await route.fulfill({ response, json: orders.filter(({ uid }) => uid !== removed) });
  });
  await page.route('**/orders/by_uids', (route) => route.fulfill({ json: [{ error: { uid: removed } }] }));
  await send(page, 'withdrawn', { id: removed });
  await expect.poll(() => row(page, removed).count()).toBe(0);
  expect(await row(page, kept).count()).toBe(1);
  expect(problems).toEqual([]);
  await page.close();
});

live('explorer: a row shows the names of tokens whose first read failed', async () => {
  const uid = await placeOrder();
  const { page } = await openList('', (opened) => opened.route(TOKENS, (route) => route.abort()));
  await expect.poll(() => row(page, uid).locator('.sells').textContent()).toContain('atoms of');
  await page.unroute(TOKENS);
  await send(page, 'gap');
  await expect.poll(() => row(page, uid).locator('.sells').textContent()).toContain('1 WETH');
  await page.close();
});

live('explorer: relative times advance without a change of the order', async () => {
  const uid = await placeOrder();
  const { page, problems } = await openList('', (opened) => opened.clock.install());
  await page.clock.runFor('03:05');
  await expect.poll(() => row(page, uid).locator('time').textContent()).toBe('3 minutes ago');
  expect(problems).toEqual([]);
  await page.close();
});

live('explorer: a failed read after missed changes is shown and repeated', async () => {
  const uid = await placeOrder();
  const { page } = await openList('', (opened) => opened.clock.install());
  const label = () => page.locator('.live').textContent();
  await send(page, 'open');
  await expect.poll(label).toBe('live');
  await page.route(LIST, (route) => route.abort());
  await trader.cancel(uid);
  await send(page, 'gap');
  await expect.poll(label).toBe('out of date');
  await page.unroute(LIST);
  await page.clock.runFor(5000);
  await expectStatus(page, uid, 'cancelled');
  await expect.poll(label).toBe('live');
  await page.close();
});
