import { createSandbox } from 'intentbook/sandbox';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { CHROMIUM, launchChromium, openPage } from '../../support/browser.ts';

const STREAM = '**/orders/stream?*';

it.skipIf(CHROMIUM === undefined)(
  'explorer: shows an order change from open to fulfilled without a reload',
  async () => {
    await using sandbox = await createSandbox({ solver: 'manual' });
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['2400', 'USDC'] });
    const browser = await launchChromium();
    try {
      const { page, problems } = await openPage(browser, `${sandbox.url}/#/orders/${uid}`);
      await page.locator('.status', { hasText: 'open' }).first().waitFor();
      // A page that is loaded again would lose the mark.
      await page.evaluate('window.mark = 1');
      await sandbox.settle(uid);
      await page
        .locator('.status', { hasText: /fulfilled/ })
        .first()
        .waitFor();
      expect(await page.evaluate('window.mark')).toBe(1);
      expect(problems).toEqual([]);
    } finally {
      await browser.close();
    }
  },
);

it.skipIf(CHROMIUM === undefined).each(['orders', 'accounts'])(
  'explorer: a page of %s shows a change between its first read and its connection to the stream',
  async (kind) => {
    await using sandbox = await createSandbox({ solver: 'manual' });
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['2400', 'USDC'] });
    const browser = await launchChromium();
    let connect = () => {};
    const connected = new Promise<void>((resolve) => {
      connect = resolve;
    });
    try {
      const prepare = (opened: Page) =>
        opened.route(STREAM, async (route) => {
          await connected;
          await route.continue();
        });
      const path = kind === 'orders' ? `orders/${uid}` : `accounts/${trader.address}`;
      const { page, problems } = await openPage(browser, `${sandbox.url}/#/${path}`, { prepare });
      await page.locator('.status', { hasText: 'open' }).first().waitFor();
      await sandbox.settle(uid);
      connect();
      await page
        .locator('.status', { hasText: /fulfilled/ })
        .first()
        .waitFor();
      expect(problems).toEqual([]);
    } finally {
      connect();
      await browser.close();
    }
  },
);

it.skipIf(CHROMIUM === undefined)(
  'explorer: a list keeps the version of an order that arrived while the list was read',
  async () => {
    await using sandbox = await createSandbox({ solver: 'manual' });
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['2400', 'USDC'] });
    const browser = await launchChromium();
    try {
      let reads = 0;
      let [send, hold] = [() => {}, () => {}];
      const held = new Promise<void>((resolve) => {
        hold = resolve;
      });
      const sent = new Promise<void>((resolve) => {
        send = resolve;
      });
      const prepare = (opened: Page) =>
        opened.route('**/api/v1/orders?*', async (route) => {
          // The second read follows the connection of the stream.
          if (++reads !== 2) return route.continue();
          const response = await route.fetch();
          hold();
          await sent;
          await route.fulfill({ response });
        });
      const { page, problems } = await openPage(browser, `${sandbox.url}/#/orders`, { prepare });
      await held;
      await sandbox.settle(uid);
      const fulfilled = page.locator('.status', { hasText: /fulfilled/ }).first();
      await fulfilled.waitFor();
      const received = page.waitForResponse('**/api/v1/orders?*');
      send();
      await (await received).finished();
      await page.evaluate('new Promise((resolve) => setTimeout(resolve, 100))');
      expect(await fulfilled.count()).toBe(1);
      expect(problems).toEqual([]);
    } finally {
      await browser.close();
    }
  },
);

it.skipIf(CHROMIUM === undefined)('explorer: a notification has its date beside the relative time', async () => {
  await using sandbox = await createSandbox({ chain: 'simulated' });
  const trader = await sandbox.createTrader({ WETH: '1' });
  await trader.placeOrder({ sell: ['1', 'WETH'], for: ['2400', 'USDC'] });
  await sandbox.waitForNotification(trader, 'order_filled');
  const browser = await launchChromium();
  try {
    const { page } = await openPage(browser, `${sandbox.url}/#/accounts/${trader.address}`);
    const times = await page.locator('.notifications li:has-text("order filled")').first().textContent();
    expect(times).toMatch(/\w+ \d+, \d{4}, \d+:\d\d:\d\d.* \(.*(?:ago|now)\)/);
  } finally {
    await browser.close();
  }
});
