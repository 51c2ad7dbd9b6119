import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CHROMIUM,
  findViolations,
  launchChromium,
  openPage,
  PHONE,
  SKIP_REASON,
  scrollsSideways,
} from '../../support/browser.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const BUILT = join(ROOT, 'docs/.vitepress/dist');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** Counts the blocks of code that must be scrolled sideways. */
const countWideBlocks = `[...document.querySelectorAll('main pre')].filter((block) => block.scrollWidth > block.clientWidth).length`;

describe.skipIf(CHROMIUM === undefined)(`documentation site${SKIP_REASON}`, () => {
  let browser: Browser;
  let server: Server;
  let url: string;

  beforeAll(async () => {
    const build = spawnSync('npm', ['run', '--silent', 'docs:build'], { cwd: ROOT, encoding: 'utf8' });
    expect([build.status, build.status === 0 ? '' : build.stdout + build.stderr]).toEqual([0, '']);
    server = createServer(async (request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'http://localhost');
      const name = pathname.endsWith('/') ? `${pathname}index.html` : pathname;
      const file = extname(name) === '' ? `${name}.html` : name;
      const content = await readFile(join(BUILT, file)).catch(() => undefined);
      if (content === undefined) return response.writeHead(404).end();
      response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' }).end(content);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on a port
    browser = await launchChromium();
  }, 600_000);
  afterAll(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
  });

  it.each([
    ['desktop', {}],
    ['phone in dark mode', { size: PHONE, dark: true }],
  ])('has no violation of WCAG 2.1 A and AA, console error or foreign request: %s', async (_, options) => {
    for (const path of ['/', '/getting-started', '/guides/explorer', '/reference/http', '/deploy/server', '/api/']) {
      const { page, problems } = await openPage(browser, url + path, options);
      await page.locator('main h1').first().waitFor();
      expect([path, await findViolations(page), problems]).toEqual([path, [], []]);
      expect([path, await scrollsSideways(page)]).toEqual([path, false]);
      expect([path, await page.evaluate(countWideBlocks)]).toEqual([path, 0]);
      await page.close();
    }
  });

  it('finds pages without a network', async () => {
    const { page, problems } = await openPage(browser, url);
    const box = page.locator('.VPLocalSearchBox input');
    // The page listens to the keyboard only after its scripts have run.
    await expect
      .poll(
        async () => {
          if (!(await box.isVisible())) await page.keyboard.press('Control+k');
          return box.isVisible();
        },
        { timeout: 20_000 },
      )
      .toBe(true);
    // Words of which the API reference has many members.
    for (const words of ['webhook', 'subscribe', 'InsufficientBalance']) {
      await box.fill('');
      await expect.poll(() => page.locator('.VPLocalSearchBox .result').count(), { timeout: 20_000 }).toBe(0);
      await box.fill(words);
      const first = page.locator('.VPLocalSearchBox .result').first();
      await first.waitFor();
      expect([words, await first.getAttribute('href')]).toEqual([words, expect.not.stringContaining('/api/')]);
    }
    expect(problems).toEqual([]);
    await page.close();
  });

  it('has the API reference of every entry', async () => {
    const index = await (await fetch(`${url}/api/`)).text();
    const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { exports: object };
    const entries = Object.keys(manifest.exports).filter((name) => name !== './package.json');
    for (const entry of entries) {
      expect(index).toMatch(new RegExp(`>intentbook${entry.slice(1)}</a></td><td[^>]*>\\w`)); // with its content
    }
    expect((await fetch(`${url}/llms.txt`)).status).toBe(200);
  });
});
