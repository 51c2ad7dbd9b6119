import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { createSandbox, type Sandbox } from 'intentbook/sandbox';
import type { Browser, Page } from 'playwright-core';
import { createWalletClient, http } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { sepolia } from 'viem/chains';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CHROMIUM, findViolations, launchChromium, openPage } from '../../support/browser.ts';
import { serveFetch } from '../../support/fetch-server.ts';

/** Requests to a wallet: a method with its parameters. */
type WalletRequest = { readonly method: string; readonly params?: readonly unknown[] };

let sandbox: Sandbox;
let browser: Browser;
let site: Awaited<ReturnType<typeof serveFetch>>;
beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  sandbox = await createSandbox();
  browser = await launchChromium();
  const entryPoints = [fileURLToPath(new URL('wallet-page.js', import.meta.url))];
  const { outputFiles } = await build({
    entryPoints,
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    define: { global: 'globalThis' },
  });
  const names = ['connect', 'swap', 'limit', 'cancel', 'list'];
  const rows = names.map((id) => `<p><button id="${id}">${id}</button> <output id="${id}-result"></output></p>`);
  const settings = { url: sandbox.url, weth: sandbox.token('WETH').address, usdc: sandbox.token('USDC').address };
  const page = `<!doctype html><html lang="en"><title>Swap</title><link rel="icon" href="data:,"><main><h1>Swap</h1>
    ${rows.join('\n')}</main><script>window.settings = ${JSON.stringify(settings)}</script>
    <script type="module" src="/page.js"></script>`;
  site = await serveFetch(async (request) => {
    const isScript = new URL(request.url).pathname === '/page.js';
    const type = isScript ? 'text/javascript' : 'text/html';
    return new Response(isScript ? outputFiles[0]?.text : page, { headers: { 'content-type': type } });
  });
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await site?.close();
  await sandbox?.close();
});

/** Injects a wallet with one account. It signs typed data and sends transactions; the node responds to the rest. */
async function injectWallet(page: Page, account: PrivateKeyAccount, methods: string[]): Promise<void> {
  const client = createWalletClient({ account, chain: sepolia, transport: http(sandbox.rpcUrl) });
  await page.exposeFunction('requestWallet', async ({ method, params = [] }: WalletRequest) => {
    methods.push(method);
    if (method === 'eth_requestAccounts' || method === 'eth_accounts') return [account.address];
    if (method === 'eth_signTypedData_v4') return account.signTypedData(JSON.parse(String(params[1])));
    if (method === 'eth_sendTransaction') {
      const { to, data, value = '0x0' } = params[0] as { to: `0x${string}`; data: `0x${string}`; value?: string };
      return client.sendTransaction({ to, data, value: BigInt(value) });
    }
    return client.request({ method, params } as never); // a request of the page
  });
  await page.addInitScript('window.ethereum = { request: (request) => requestWallet(request), on() {} };');
}

it.skipIf(CHROMIUM === undefined)(
  'wallet: a page swaps, places a limit order, cancels it and lists its orders through an injected wallet',
  async () => {
    const trader = await sandbox.createTrader({ WETH: '5' });
    const methods: string[] = [];
    const { page, problems } = await openPage(browser, site.url, {
      prepare: (opened) => injectWallet(opened, privateKeyToAccount(trader.privateKey), methods),
    });
    const click = async (name: string) => {
      await page.click(`#${name}`);
      const result = page.locator(`#${name}-result`);
      await expect.poll(() => result.textContent(), { timeout: 30_000 }).not.toBe('');
      return String(await result.textContent());
    };
    expect((await click('connect')).toLowerCase()).toBe(trader.address.toLowerCase());
    const swap = (await click('swap')) as `0x${string}`;
    await sandbox.waitFor(swap, 'fulfilled');
    const limit = (await click('limit')) as `0x${string}`;
    expect((await sandbox.book.orders.get(limit))?.status).toBe('open');
    expect(await click('cancel')).toBe('true');
    expect((await click('list')).split('\n').sort()).toEqual([`${swap} fulfilled`, `${limit} cancelled`].sort());

    const [filled, cancelled] = await Promise.all([swap, limit].map((uid) => sandbox.book.orders.get(uid)));
    expect(filled).toMatchObject({ owner: trader.address.toLowerCase(), signingScheme: 'eip712', kind: 'sell' });
    expect(BigInt(filled?.executedBuyAmount ?? 0)).toBeGreaterThanOrEqual(BigInt(filled?.buyAmount ?? 1));
    expect(await trader.balanceOf('USDC')).toBe(BigInt(filled?.executedBuyAmount ?? 1));
    expect(cancelled?.status).toBe('cancelled');
    expect(methods.filter((method) => method === 'eth_signTypedData_v4')).toHaveLength(3);
    expect(methods).toContain('eth_sendTransaction');
    expect(await findViolations(page)).toEqual([]);

    // The explorer shows both orders of the account.
    const explorer = await openPage(browser, `${sandbox.url}/#/accounts/${trader.address}`);
    for (const [uid, status] of [
      [swap, 'fulfilled'],
      [limit, 'cancelled'],
    ] as const) {
      const row = explorer.page.locator(`tr[data-uid="${uid}"] .status`);
      await expect.poll(() => row.textContent(), { timeout: 30_000 }).toContain(status);
    }
    expect(await findViolations(explorer.page)).toEqual([]);
    // The page and the book have different origins.
    const isOwn = (problem: string) => problem.startsWith(`requested ${sandbox.url}/api/v1/`);
    expect([...problems.filter((problem) => !isOwn(problem)), ...explorer.problems]).toEqual([]);
  },
  120_000,
);
