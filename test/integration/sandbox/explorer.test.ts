import { existsSync } from 'node:fs';
import { createSandbox } from 'intentbook/sandbox';
import { chromium } from 'playwright-core';
import { expect, it } from 'vitest';

const CHROMIUM = [process.env['INTENTBOOK_CHROMIUM'], '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (path) => path !== undefined && existsSync(path),
);

it.skipIf(CHROMIUM === undefined)(
  'explorer: shows an order change from open to fulfilled without a reload',
  async () => {
    await using sandbox = await createSandbox({ solver: 'manual' });
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['2400', 'USDC'] });
    const browser = await chromium.launch({
      executablePath: CHROMIUM as string, // the test is skipped without
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
    });
    try {
      const page = await browser.newPage();
      const foreign: string[] = [];
      page.on('request', (request) => {
        if (new URL(request.url()).origin !== sandbox.url) foreign.push(request.url());
      });
      await page.goto(`${sandbox.url}/#/orders/${uid}`);
      await page.locator('.status', { hasText: 'open' }).first().waitFor();
      // A page that is loaded again would lose the mark.
      await page.evaluate('window.mark = 1');
      await sandbox.settle(uid);
      await page
        .locator('.status', { hasText: /fulfilled/ })
        .first()
        .waitFor();
      expect(await page.evaluate('window.mark')).toBe(1);
      expect(foreign).toEqual([]);
    } finally {
      await browser.close();
    }
  },
);
