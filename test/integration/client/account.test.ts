import { createApi, createOrderBook, type OrderCreation } from 'intentbook';
import { composeApis, createAccountApi, createAccounts } from 'intentbook/accounts';
import { type AccountClientOptions, type AccountWallet, createClient, RequestError } from 'intentbook/client';
import { fetchHandler } from 'intentbook/fetch';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { fixedUsdPrices } from 'intentbook/prices';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { account, SEPOLIA, signCancellation, signOrder } from '../../support/orders.ts';

const ALICE = account(1);
const TOKEN = '0xfff9976782d46cc05630d1f6ebab18b2324d6b14';
const TERMS = {
  rewardAmount: 10,
  triggerVolume: 1_000,
  timeCapDays: 90,
  volumeCap: 1_000_000,
  revenueSplitAffiliatePct: 50,
  revenueSplitTraderPct: 50,
  revenueSplitDaoPct: 0,
};

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Serves a book and its accounts, with one channel without confirmation. */
async function serve(wallet: string | AccountWallet = ALICE, options: AccountClientOptions = {}) {
  const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
  const accounts = createAccounts({
    books: [book],
    store: memoryAccountStore(),
    affiliates: { domainName: 'Example Affiliate', terms: TERMS },
    audience: 'book.example.com',
    usdPrices: { sources: [fixedUsdPrices({ [SEPOLIA]: { [TOKEN]: 2500 } })] },
    channels: [
      {
        name: 'test',
        signs: true,
        confirmation: 'none',
        parseTarget: (target) => target,
        deliver: async () => ({ status: 'delivered' }),
      },
    ],
  });
  await book.start();
  await accounts.start();
  closing.push(book.close, accounts.close);
  const handler = fetchHandler(composeApis(createAccountApi(accounts), createApi(book)));
  const requests: [string, Headers][] = [];
  const client = createClient('http://localhost', {
    maxDelay: 1,
    fetch: (url, init) => {
      requests.push([`${init?.method ?? 'GET'} ${url}`, new Headers(init?.headers)]);
      return handler(new Request(url, init));
    },
  });
  let sold = 0;
  /** Submits an order and cancels it, which creates a notification. */
  async function cancelOrder(): Promise<string> {
    sold++;
    const choice = { validTo: Math.floor(Date.now() / 1000) + 3600, sellAmount: String(sold) };
    const uid = await client.submit((await signOrder(ALICE, choice)) as OrderCreation);
    await client.cancel({ orderUids: [uid], ...(await signCancellation(ALICE, { orderUids: [uid] })) });
    return uid;
  }
  const user = client.account(wallet, { domainName: 'Example Affiliate', audience: 'book.example.com', ...options });
  return { client, user, requests, cancelOrder };
}

describe('account of a client', () => {
  it('creates, lists and removes subscriptions with the signature of the account', async () => {
    const { user } = await serve();
    const created = await user.subscribe({ channel: 'test', target: 'https://example.com', types: ['order_filled'] });
    expect(created).toMatchObject({ state: 'active', secret: expect.stringMatching(/^whsec_/) });
    const [listed, ...others] = await user.subscriptions();
    expect([listed?.id, listed?.types, others]).toEqual([created.id, ['order_filled'], []]);
    await user.unsubscribe(created.id);
    expect(await user.subscriptions()).toEqual([]);
  });

  it('names what is missing in a call without arguments', async () => {
    const { user, requests } = await serve();
    const calls = user as unknown as Record<'subscribe' | 'unsubscribe', (terms?: unknown) => Promise<unknown>>;
    for (const terms of [undefined, null, 'webhook']) {
      await expect(calls.subscribe(terms)).rejects.toThrow(new TypeError(`terms must be an object, got ${terms}`));
    }
    await expect(calls.unsubscribe()).rejects.toThrow('target must be a text, got undefined');
    expect(requests).toEqual([]);
    await expect(user.balances(SEPOLIA, undefined as never)).rejects.toThrow(RequestError);
  });

  it('streams notifications, and resumes after the last event of a lost connection', async () => {
    const { user, requests, cancelOrder } = await serve();
    const seen: unknown[] = [];
    let last = 0;
    const stream = user.notifications.stream()[Symbol.asyncIterator]();
    const first = stream.next();
    await vi.waitFor(() => expect(requests).toHaveLength(1));
    const uids = [await cancelOrder()];
    for (let next = await first; ; next = await stream.next()) {
      if (next.value.type !== 'notification') continue;
      seen.push(next.value.notification.metadata.orderUid);
      last = next.value.id;
      break;
    }
    await stream.return?.();
    uids.push(await cancelOrder());
    for await (const event of user.notifications.stream({ after: last })) {
      if (event.type === 'notification') seen.push(event.notification.metadata['orderUid']);
      break;
    }
    expect(seen).toEqual(uids);
    const opened = requests.filter(([request]) => request.endsWith('/notifications/stream'));
    expect(opened.map(([, headers]) => headers.get('last-event-id'))).toEqual([null, String(last)]);
  });

  it('ends a stream when its signal is aborted', async () => {
    const { user } = await serve();
    const control = new AbortController();
    const stream = user.notifications.stream({ signal: control.signal })[Symbol.asyncIterator]();
    const next = stream.next();
    control.abort();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it('lists notifications, orders and trades by page', async () => {
    const { user, cancelOrder } = await serve();
    const uids = [await cancelOrder(), await cancelOrder()].reverse();
    await vi.waitFor(async () => expect((await user.notifications.list()).notifications).toHaveLength(2));
    const { notifications, next } = await user.notifications.list({ limit: 1 });
    expect(notifications.map(({ metadata }) => metadata['orderUid'])).toEqual(uids.slice(0, 1));
    const rest = await user.notifications.list({ limit: 1, cursor: String(next) });
    expect(rest.notifications.map(({ metadata }) => metadata['orderUid'])).toEqual(uids.slice(1));
    const { orders, ...page } = await user.history.orders();
    expect([orders.map(({ order }) => order.uid), page]).toEqual([uids, {}]);
    expect(await user.history.trades()).toEqual({ trades: [] });
  });

  it('registers an affiliate code in upper case, and reads it', async () => {
    const { user } = await serve();
    expect(await user.affiliate.get()).toBeUndefined();
    expect(await user.affiliate.register(' my-code ')).toMatchObject({ code: 'MY-CODE' });
    expect(await user.affiliate.get()).toMatchObject({ code: 'MY-CODE', ...TERMS });
    await expect(user.affiliate.register('other-code')).rejects.toMatchObject({
      status: 409,
      message: 'Affiliate wallet address already bound to a code',
    });
  });

  it('reads prices, and rejects with the message of the server', async () => {
    const { user } = await serve(ALICE.address);
    expect(await user.usdPrice(SEPOLIA, TOKEN)).toBe(2500);
    expect(await user.usdPrice(SEPOLIA, ALICE.address)).toBeUndefined();
    const error = await user.balances(SEPOLIA, [TOKEN]).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({ status: 503, message: 'Balances are not available on this chain' });
  });

  it('names what is missing', async () => {
    const { client, user } = await serve(ALICE.address);
    await expect(user.subscriptions()).rejects.toThrow('account: a signature is required: pass an object with address');
    for (const wrong of ['0x12', { address: 5 }, undefined]) {
      expect(() => client.account(wrong as string)).toThrow('account: must be an address, or an object with address');
    }
    const options = { domain: 'x' } as AccountClientOptions;
    expect(() => client.account(ALICE, options)).toThrow('account: unknown option "domain", use url, domainName');
  });

  it('uses another URL if the book is not at the root of the server', async () => {
    const urls: string[] = [];
    const fetch = async (url: string) => {
      urls.push(url);
      return Response.json([]);
    };
    const client = createClient('http://localhost/mainnet', { fetch });
    await client.account(ALICE, { url: 'http://localhost' }).notifications.list();
    expect(urls).toEqual([`http://localhost/accounts/${ALICE.address}/notifications?limit=100`]);
  });
});
