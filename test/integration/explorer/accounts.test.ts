import { createDecipheriv, createECDH, createHmac, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Hex, OrderBook } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { composeApis, createAccountApi, createAccounts } from 'intentbook/accounts';
import { webPushChannel } from 'intentbook/channels';
import { createExplorer } from 'intentbook/explorer';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import type { Sandbox } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import type { RunningServer } from 'intentbook/server';
import { serve } from 'intentbook/server';
import type { Browser, Page } from 'playwright-core';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import webPush from 'web-push';
import { affiliateTypedData } from '../../support/affiliates.ts';
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
import { account, SEPOLIA_DOMAIN, signCancellation, signOrder } from '../../support/orders.ts';

const ALICE = account(91);
const ALICES = ALICE.address.toLowerCase();

describe.skipIf(CHROMIUM === undefined)(`explorer accounts${SKIP_REASON}`, () => {
  let browser: Browser;
  const pages: Page[] = [];

  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close();
  });
  afterAll(() => browser?.close());

  async function show(url: string, options: PageOptions = {}) {
    const observed = await openPage(browser, url, options);
    pages.push(observed.page);
    await observed.page.locator('main h1').waitFor();
    return observed;
  }

  const textOf = async (page: Page) => ((await page.locator('main').textContent()) ?? '').replaceAll('\u00a0', ' ');

  it('shows the orders of an account if notifications are off', async () => {
    const server = await serve({ port: 0, store: memoryStore(), accounts: ':memory:', notifications: 'off' });
    try {
      const { page } = await show(`${server.url}/#/accounts/${ALICES}`);
      expect(await textOf(page)).toMatch(/no order in this book.*does not serve notifications/);
    } finally {
      await server.close();
    }
  });

  describe('history across books', () => {
    let server: RunningServer;
    beforeAll(async () => {
      server = await serve({
        port: 0,
        books: [
          { chain: 'mainnet', db: ':memory:' },
          { chain: 'sepolia', db: ':memory:' },
        ],
      });
      for (let i = 0; i < 30; i++) {
        const chainId = i % 2 === 0 ? 1 : 11155111;
        const order = await signOrder(
          ALICE,
          { sellAmount: String(1000 + i), validTo: Math.floor(Date.now() / 1000) + 3600 },
          { domain: { ...SEPOLIA_DOMAIN, chainId } },
        );
        const result = await server.deployments[i % 2]?.book.orders.submit(order);
        if (result?.status !== 'accepted') throw new Error('the order must be accepted');
      }
    });
    afterAll(() => server?.close());

    it('lists the orders of all books by page, and links each to its book', async () => {
      const { page, problems } = await show(`${server.url}/#/mainnet/accounts/${ALICES}/orders`);
      const rows = page.locator('tbody tr');
      expect(await rows.count()).toBe(25);
      await page.getByRole('button', { name: 'Older orders' }).click();
      await rows.nth(29).waitFor();
      expect(await page.getByRole('button', { name: 'Older orders' }).isVisible()).toBe(false);
      const books = await rows.evaluateAll((all) => all.map((row) => row.querySelector('td')?.textContent));
      expect(books.filter((name) => name === 'sepolia')).toHaveLength(15);
      const links = await rows.evaluateAll((all) => all.map((row) => row.querySelector('a')?.getAttribute('href')));
      expect(new Set(links).size).toBe(30);
      const ofSepolia = page.locator('tbody tr', { hasText: 'sepolia' }).locator('a.hex').first();
      expect(await ofSepolia.getAttribute('href')).toMatch(/^#\/sepolia\/orders\/0x/);
      await ofSepolia.click();
      await page.getByRole('heading', { name: 'History' }).waitFor();
      expect(problems).toEqual([]);
    });

    it('downloads the complete history as CSV', async () => {
      const { page } = await show(`${server.url}/#/mainnet/accounts/${ALICES}/orders`);
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download CSV' }).click(),
      ]);
      expect(download.suggestedFilename()).toMatch(/orders.*\.csv$/);
      const chunks: Buffer[] = [];
      for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer); // a binary stream
      expect(Buffer.concat(chunks).toString().trim().split('\r\n')).toHaveLength(31);
    });

    it('explains an account without trades and statistics that are not configured', async () => {
      const { page, problems } = await show(`${server.url}/#/mainnet/accounts/${ALICES}/trades`);
      expect(await textOf(page)).toContain('No order of this account was filled in the books of this server.');
      await page.getByRole('link', { name: 'Affiliate' }).click();
      await page.getByRole('heading', { name: 'Statistics' }).waitFor();
      const text = await textOf(page);
      expect(text).toContain('This account has no affiliate code.');
      expect(text).toContain('Affiliate statistics are not configured. An operator enables statistics');
      expect(problems).toEqual([]);
    });

    it('explains a server without an account interface', async () => {
      const other = await serve({ port: 0, store: memoryStore(), accounts: 'off' });
      try {
        const { page, problems } = await show(`${other.url}/#/accounts/${ALICES}/trades`);
        expect(await textOf(page)).toContain('This server has no account interface');
        await page.getByRole('link', { name: 'Affiliate' }).click();
        await page.getByText('which has the affiliate program').waitFor();
        expect(problems).toEqual([]);
      } finally {
        await other.close();
      }
    });
  });

  describe('affiliate program', () => {
    let sandbox: Sandbox;
    let affiliate: string;
    let trader: string;
    beforeAll(async () => {
      sandbox = await createSandbox({ chain: 'simulated' });
      const [first] = sandbox.accounts;
      const wallet = privateKeyToAccount(first?.privateKey ?? '0x');
      affiliate = wallet.address.toLowerCase();
      const domain = { name: 'CoW Swap Affiliate', version: '1' };
      const signedMessage = await wallet.signTypedData(affiliateTypedData(wallet.address, 'EXPLORER', domain));
      const registration = { walletAddress: wallet.address, code: 'EXPLORER', signedMessage };
      const response = await fetch(`${sandbox.url}/affiliate/${wallet.address}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(registration),
      });
      expect(response.status).toBe(201);
      const owner = await sandbox.createTrader({ WETH: '10' });
      trader = owner.address.toLowerCase();
      const appData = JSON.stringify({ appCode: 'explorer', metadata: { referrer: { code: 'EXPLORER' } } });
      const quote = await sandbox.quote(owner, { sell: ['1', 'WETH'], for: 'USDC' }, { appData });
      await sandbox.waitFor(await owner.placeOrder(quote, { slippageBps: 50 }), 'fulfilled');
      const isCounted = async () => {
        expect((await fetch(`${sandbox.url}/affiliate/trader-stats/${trader}`)).status).toBe(200);
      };
      await vi.waitFor(isCounted, { timeout: 20_000 });
    });
    afterAll(() => sandbox?.close());

    it('shows the code, the statistics of affiliate and trader, and the trades', async () => {
      const { page, problems } = await show(`${sandbox.url}/#/accounts/${affiliate}/affiliate`);
      const text = await textOf(page);
      expect(text).toContain('CodeEXPLORER');
      expect(text).toContain('Traders1 active, 1 in total');
      expect(text).toMatch(/Volume\$2,\d{3}/);
      const { page: other } = await show(`${sandbox.url}/#/accounts/${trader}/affiliate`);
      expect(await textOf(other)).toMatch(/Eligible volume\$2,\d{3}/);
      expect(await other.locator('tbody tr').first().textContent()).toMatch(/1 WETH.* USDC\$2,\d{3}/);
      expect(problems).toEqual([]);
    });

    it.each([
      ['desktop', {}],
      ['phone in dark mode', { size: PHONE, dark: true }],
    ])('every page of an account fits and is accessible: %s', async (_, options) => {
      for (const tab of ['', '/orders', '/trades', '/affiliate']) {
        const { page, problems } = await show(`${sandbox.url}/#/accounts/${trader}${tab}`, options);
        expect([tab, await findViolations(page), await scrollsSideways(page), problems]).toEqual([tab, [], false, []]);
      }
    });
  });

  describe('web push', () => {
    it.each([
      ['a server', serveWithPush],
      ['an application, below a prefix', embedWithPush],
    ])('of %s: subscribes with a signature, and shows a notification that the server sends', async (_, start) => {
      const keys = webPush.generateVAPIDKeys();
      await using push = await pushService();
      await using server = await start(keys);
      const { url, book } = server;
      const { page, problems } = await show(`${url}/explorer`);
      await installWallet(page, push.subscription, keys.publicKey);
      await page.context().grantPermissions(['notifications'], { origin: new URL(url).origin });
      await page.goto(`${url}/explorer#/accounts/${ALICES}`);
      await page.reload();
      await page.getByRole('button', { name: 'Notify me in this browser' }).click();
      await page.getByText('This browser shows the notifications of this account.').waitFor();
      expect(await findViolations(page)).toEqual([]);

      const uid = await placeAndCancel(book);
      const message = await push.received;
      expect(JSON.parse(message)).toMatchObject({ type: 'order_cancelled', data: { metadata: { orderUid: uid } } });

      const shown = await deliver(page, `${url}/explorer/`, message);
      expect(shown).toEqual({ title: 'Order cancelled', body: JSON.parse(message).data.message });
      expect(await clickNotification(page)).toBe(`${url}/explorer#/search?q=${uid}`);

      await page.getByRole('button', { name: 'Turn off in this browser' }).click();
      await page.getByRole('button', { name: 'Notify me in this browser' }).waitFor();
      expect(problems).toEqual([]);
    });

    it('explains why a browser without a wallet is not offered notifications', async () => {
      const { publicKey, privateKey } = webPush.generateVAPIDKeys();
      const vapid = { vapidSubject: 'mailto:us@example.org', vapidPublicKey: publicKey, vapidPrivateKey: privateKey };
      const server = await serve({ port: 0, store: memoryStore(), ...vapid });
      try {
        const { page } = await show(`${server.url}/#/accounts/${ALICES}`);
        expect(await textOf(page)).toMatch(/need a wallet in the browser|blocks notifications/);
        expect(await page.getByRole('button', { name: 'Notify me' }).count()).toBe(0);
      } finally {
        await server.close();
      }
    });
  });
});

type Keys = ReturnType<typeof webPush.generateVAPIDKeys>;

/** A standalone server with the web push channel. */
async function serveWithPush({ publicKey, privateKey }: Keys) {
  const vapid = { vapidSubject: 'mailto:us@example.org', vapidPublicKey: publicKey, vapidPrivateKey: privateKey };
  const server = await serve({ port: 0, store: memoryStore(), ...vapid, webhookAllow: ['127.0.0.1/32'] });
  const [deployment] = server.deployments;
  if (deployment === undefined) throw new Error('the server must have a book');
  return { url: server.url, book: deployment.book, [Symbol.asyncDispose]: () => server.close() };
}

/** An application that mounts the book, the account interface and the explorer below a prefix. */
async function embedWithPush({ publicKey, privateKey }: Keys) {
  const book = createOrderBook({ chainId: 11155111, store: memoryStore() });
  const options = { subject: 'mailto:us@example.org', publicKey, privateKey, allow: ['127.0.0.1/32'] };
  const accounts = createAccounts({
    books: [book],
    store: memoryAccountStore(),
    channels: [webPushChannel(options)],
    fundingInterval: 'off',
  });
  await book.start();
  await accounts.start();
  const explorer = createExplorer({ books: [{ book }], accounts, webPush: { publicKey } });
  const api = composeApis(explorer, createAccountApi(accounts), createApi(book));
  const server = createServer(nodeHandler(api, { prefix: '/markets/one' }));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port
  return {
    url: `http://127.0.0.1:${port}/markets/one`,
    book,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await accounts.close();
      await book.close();
    },
  };
}

async function placeAndCancel(book: OrderBook): Promise<string> {
  const order = await signOrder(ALICE, { validTo: Math.floor(Date.now() / 1000) + 3600 });
  const result = await book.orders.submit(order);
  if (result.status !== 'accepted') throw new Error('the order must be accepted');
  const orderUids = [result.uid];
  await book.orders.cancel({ orderUids, ...(await signCancellation(ALICE, { orderUids })) });
  return result.uid;
}

/** A push service with one subscription of a browser. It decrypts the first message. */
async function pushService() {
  const ecdh = createECDH('prime256v1');
  ecdh.generateKeys();
  const auth = randomBytes(16);
  let receive: (message: string) => void;
  const received = new Promise<string>((resolve) => {
    receive = resolve;
  });
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer); // a request body is bytes
    response.writeHead(201).end();
    receive(decrypt(Buffer.concat(chunks), ecdh, auth));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port
  const keys = { p256dh: ecdh.getPublicKey('base64url'), auth: auth.toString('base64url') };
  return {
    received,
    subscription: { endpoint: `http://127.0.0.1:${port}/push`, keys },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Decrypts a push message (RFC 8291, with the encoding of RFC 8188). */
function decrypt(body: Buffer, ecdh: ReturnType<typeof createECDH>, auth: Buffer): string {
  const [salt, sender, sealed] = [body.subarray(0, 16), body.subarray(21, 86), body.subarray(86)];
  const hmac = (key: Buffer, ...parts: (Buffer | string)[]) =>
    parts.reduce((hash, part) => hash.update(part), createHmac('sha256', key)).digest();
  const info = [Buffer.from('WebPush: info\0'), ecdh.getPublicKey(), sender, '\x01'];
  const key = hmac(salt, hmac(hmac(auth, ecdh.computeSecret(sender)), ...info));
  const contentKey = hmac(key, 'Content-Encoding: aes128gcm\0\x01').subarray(0, 16);
  const nonce = hmac(key, 'Content-Encoding: nonce\0\x01').subarray(0, 12);
  const decipher = createDecipheriv('aes-128-gcm', contentKey, nonce).setAuthTag(sealed.subarray(-16));
  const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  return padded.subarray(0, padded.lastIndexOf(2)).toString();
}

/** Adds a wallet to the page, and the push service of the test, since Chromium connects only to its own. */
async function installWallet(page: Page, subscription: object, publicKey: string): Promise<void> {
  await page.exposeFunction('signTypedData', (text: string): Promise<Hex> => {
    const { domain, types, primaryType, message } = JSON.parse(text);
    const numbers = { nonce: BigInt(message.nonce), deadline: BigInt(message.deadline) };
    return ALICE.signTypedData({ domain, types, primaryType, message: { ...message, ...numbers } });
  });
  await page.addInitScript(`
    window.ethereum = {
      request: async ({ method, params }) =>
        method === 'eth_requestAccounts' ? ['${ALICE.address}'] : signTypedData(params[1]),
    };
    let current = null;
    const subscription = {
      toJSON: () => (${JSON.stringify(subscription)}),
      unsubscribe: async () => { current = null; return true; },
    };
    PushManager.prototype.getSubscription = async () => current;
    PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
      if (!userVisibleOnly || applicationServerKey !== '${publicKey}') throw new Error('wrong options');
      return (current = subscription);
    };`);
}

/**
 * Delivers a push message to the service worker with a scope, like the browser. Chromium sometimes drops a message of
 * its debugging protocol without an error, so it is sent until a notification is shown. A second notification replaces
 * the first.
 *
 * @returns The notification.
 */
async function deliver(page: Page, scope: string, data: string): Promise<{ title: string; body: string }> {
  const session = await page.context().newCDPSession(page);
  const registered = new Promise<string>((resolve) => {
    session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations: [first] }) => {
      if (first !== undefined) resolve(first.registrationId);
    });
  });
  await session.send('ServiceWorker.enable');
  const message = { origin: `${new URL(scope).origin}/`, registrationId: await registered, data };
  for (let attempt = 0; attempt < 10; attempt++) {
    await session.send('ServiceWorker.deliverPushMessage', message);
    const shown = await page.evaluate<{ title: string; body: string } | null>(`(async () => {
      const registration = await navigator.serviceWorker.getRegistration('${scope}');
      for (let i = 0; i < 100; i++) {
        const [shown] = await registration.getNotifications();
        if (shown) return { title: shown.title, body: shown.body };
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return null;
    })()`);
    if (shown !== null) return shown;
  }
  throw new Error('the service worker has shown no notification');
}

/** Clicks the notification that is shown. @returns The URL that the service worker opens. */
async function clickNotification(page: Page): Promise<string> {
  const [worker] = page.context().serviceWorkers();
  if (worker === undefined) throw new Error('the page has no service worker');
  return worker.evaluate<string>(`(async () => {
    const [notification] = await self.registration.getNotifications();
    const opened = new Promise((resolve) => { self.clients.openWindow = async (url) => resolve(url); });
    self.dispatchEvent(new NotificationEvent('notificationclick', { notification }));
    return opened;
  })()`);
}
