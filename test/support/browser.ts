import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { chromium } from 'playwright-core';

/** The installed Chromium. `undefined`: browser tests are skipped. */
export const CHROMIUM = [process.env['TEST_CHROMIUM'], '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (path) => path !== undefined && existsSync(path),
);

/** Suffix of the names of browser tests that states why they are skipped. */
export const SKIP_REASON = CHROMIUM ? '' : ' (skipped without Chromium: install it, or name it in TEST_CHROMIUM)';

export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 360, height: 740 };

/** A page with the problems that were observed: errors, console errors and requests to another origin. */
export interface ObservedPage {
  readonly page: Page;
  readonly problems: string[];
}

export interface PageOptions {
  readonly size?: { readonly width: number; readonly height: number };
  readonly dark?: boolean;
  /** Called before the page is loaded. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM as string, // the tests are skipped without
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
}

/** Opens a URL and records problems. */
export async function openPage(
  browser: Browser,
  url: string,
  { size = DESKTOP, dark = false, prepare }: PageOptions = {},
): Promise<ObservedPage> {
  const page = await browser.newPage({ viewport: size, colorScheme: dark ? 'dark' : 'light' });
  const { origin } = new URL(url);
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('request', (request) => {
    const target = new URL(request.url());
    if (target.protocol !== 'data:' && target.origin !== origin) problems.push(`requested ${request.url()}`);
  });
  await prepare?.(page);
  await page.goto(url);
  return { page, problems };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Returns the violations of WCAG 2.1 A and AA, with the elements. */
export async function findViolations(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate<string[]>(`axe
    .run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] })
    .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ': ' + target)))`);
}

/** Returns whether a page must be scrolled horizontally. */
export async function scrollsSideways(page: Page): Promise<boolean> {
  return page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');
}
