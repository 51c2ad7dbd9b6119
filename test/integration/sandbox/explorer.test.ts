import { createSandbox } from 'intentbook/sandbox';
import { expect, it } from 'vitest';
import { CHROMIUM, launchChromium, openPage } from '../../support/browser.ts';

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
