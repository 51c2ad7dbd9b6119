import type { Address, Hex } from 'intentbook';
import { orderBookQuotes, orderBookUpstream } from 'intentbook/upstream';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseElements, parseOrders, parseTrades } from '../../../../adapters/upstream/parse-order.ts';
import { manualClock } from '../../../support/clock.ts';
import { createPublicShapes } from '../../../support/upstream/public-shapes.ts';
import { DOMAIN, html, json, OWNER, UID, upstreamFixture } from './upstream-fixture.ts';

let shapes: Awaited<ReturnType<typeof createPublicShapes>>;
beforeAll(async () => {
  shapes = await createPublicShapes();
});

const PAGE = { offset: 0, limit: 10 };
const uidOf = (order: { readonly uid: string }) => order.uid as Hex;

describe('public responses', () => {
  it('of orders are read', () => {
    const [open, ethflow, hooked] = parseOrders(shapes.accountOrders);
    expect(open).toMatchObject({
      status: 'open',
      sellAmount: 3_500_000n,
      creationDate: Date.parse('2026-05-11T08:09:10.123Z'),
      settlementContract: '0xf553d092b50bdcbdded1a99af2ca29fbe5e2cb13',
      fullAppData: shapes.order.fullAppData,
      onchainUser: undefined,
    });
    expect(ethflow).toMatchObject({
      status: 'fulfilled',
      validTo: 0xffffffff,
      userValidTo: 1_779_000_600,
      onchainUser: shapes.order.owner,
      placementError: undefined,
      executedFee: 81_000_000_000_000n,
      signingScheme: 'eip1271',
    });
    expect(hooked).toMatchObject({ executedSellAmount: 18_639_632_980_706_689_867n, executedFee: 0n });
    expect(parseOrders([shapes.order])).toMatchObject([{ uid: shapes.order.uid }]);
  });

  it('of trades are read, also without a transaction', () => {
    expect(parseTrades(shapes.trades)).toMatchObject([
      { blockNumber: 25_100_200, logIndex: 194, transactionHash: undefined, buyAmount: 3_871_000n },
      { logIndex: 186, transactionHash: `0x${'e5'.repeat(32)}` },
    ]);
  });

  it.each([
    ['a log index of 2^31', { logIndex: 2 ** 31 }],
    ['a negative signed fee', { sellAmountBeforeFees: '9'.repeat(40) }],
  ])('of trades are not read with %s', (_, members) => {
    const [first, ...others] = shapes.trades;
    expect(parseTrades([{ ...first, ...members }, ...others])).toBeUndefined();
    expect(parseTrades([{ ...first, sellAmountBeforeFees: undefined, logIndex: 2 ** 31 - 1 }])).toHaveLength(1);
  });

  it('of a quote keep the id, the expiry and the fee in basis points', async () => {
    const { upstream } = upstreamFixture(() => json(200, shapes.quote));
    expect(await upstream.quote({})).toEqual({ status: 'quoted', quote: shapes.quote });
  });

  it('of a quote have no id that is not exact as a number', async () => {
    const read: unknown[] = [];
    for (const id of ['12', '9007199254740993', 2 ** 53, 1.5, -3, 'abc', true, { a: 1 }]) {
      const { upstream } = upstreamFixture(() => json(200, { ...shapes.quote, id }));
      const answer = await upstream.quote({});
      read.push(answer.status === 'quoted' && answer.quote.id);
    }
    expect(read).toEqual([12, null, null, null, null, null, null, null]);
  });

  it('are estimates of the other book', async () => {
    const requests: unknown[] = [];
    const estimator = orderBookQuotes({
      url: 'https://book.example/mainnet',
      clock: manualClock(),
      fetch: async (url, init) => {
        requests.push([String(url), init?.body === undefined ? undefined : JSON.parse(String(init.body))]);
        return json(200, String(url).endsWith('price') ? shapes.nativePrice : shapes.quote);
      },
    });
    const context = { signal: new AbortController().signal, timeout: 4000 };
    const trade = { sellToken: OWNER, buyToken: OWNER, kind: 'sell', amount: 5n } as const;
    expect(await estimator.estimate(trade, context)).toEqual({
      amount: 273_000_000_884_534_691_538n,
      gas: 222_000,
      verified: true,
    });
    expect(requests[0]).toEqual([
      'https://book.example/mainnet/api/v1/quote',
      expect.objectContaining({ sellAmountAfterFee: '5', kind: 'sell', timeout: 4000 }),
    ]);
    expect(await estimator.nativePrice?.(OWNER, context)).toBe(1);
  });
});

describe('quotes of another book', () => {
  const estimate = (response: Response) => {
    const options = { url: 'https://book.example', clock: manualClock(), fetch: async () => response };
    const trade = { sellToken: OWNER, buyToken: OWNER, kind: 'buy', amount: 5n } as const;
    return orderBookQuotes(options).estimate(trade, { signal: new AbortController().signal, timeout: 1000 });
  };
  const error = (status: number, errorType: string, description = '') => json(status, { errorType, description });
  const TOKEN: Address = `0x${'ab'.repeat(20)}`;

  it('have no route, an unsupported token, or the reason of a solver', async () => {
    expect(await estimate(error(404, 'NoLiquidity'))).toBeUndefined();
    const description = `Token ${TOKEN} is unsupported: token is deny listed`;
    expect(await estimate(error(400, 'UnsupportedToken', description))).toMatchObject({ unsupportedToken: TOKEN });
    expect(await estimate(error(400, 'TradingOutsideAllowedWindow', 'closed'))).toEqual({
      rejection: 'TradingOutsideAllowedWindow',
      reason: 'closed',
    });
  });

  it('fail for other errors, a pause and a malformed quote', async () => {
    await expect(estimate(error(400, 'InvalidAppData', 'x'))).rejects.toThrow('InvalidAppData: x');
    await expect(estimate(html(429))).rejects.toThrow('book.example: responded with status 429');
    await expect(estimate(json(200, { quote: {} }))).rejects.toThrow('the quote must have amounts and gas');
  });
});

describe('orders of a newer version', () => {
  it.each([undefined, null])(
    'scenario 36: may have new members, an unknown status, and numbers for text, and no fee (%s)',
    (feeAmount) => {
      const changed = {
        ...shapes.order,
        status: 'frozen',
        class: 'twap',
        sellAmount: 3_500_000,
        validTo: '1811000000',
        feeAmount,
        newMember: { a: [1] },
      };
      expect(parseOrders([changed])).toMatchObject([
        { status: undefined, class: 'limit', sellAmount: 3_500_000n, validTo: 1_811_000_000, feeAmount: 0n },
      ]);
    },
  );

  it.each([
    ['uid', '0x12'],
    ['sellToken', undefined],
    ['buyAmount', '1e18'],
    ['sellAmount', 1e21],
    ['executedBuyAmount', undefined],
    ['executedSellAmount', '-1'],
    ['kind', 'swap'],
    ['partiallyFillable', 'false'],
    ['signingScheme', 'eip9999'],
    ['creationDate', 'yesterday'],
    ['receiver', '0x1'],
  ])('are not read with the %s %s', (name, value) => {
    expect(parseOrders([{ ...shapes.order, [name]: value }, null, 5, shapes.order])).toHaveLength(1);
  });

  it('have the same time in every time zone of the host if their date has no zone', () => {
    const { TZ } = process.env;
    process.env['TZ'] = 'America/Los_Angeles';
    const [order] = parseOrders([{ ...shapes.order, creationDate: '2026-05-11T08:09:10.123' }]);
    if (TZ === undefined) delete process.env['TZ'];
    else process.env['TZ'] = TZ;
    expect(order?.creationDate).toBe(Date.parse('2026-05-11T08:09:10.123Z'));
  });

  it('have no document whose hash differs', () => {
    const [order] = parseOrders([{ ...shapes.order, fullAppData: '{"appCode":"other"}' }]);
    expect(order?.fullAppData).toBeUndefined();
  });

  it('have the owner of their UID if it is missing', () => {
    expect(parseOrders([{ ...shapes.order, owner: undefined }])[0]?.owner).toBe(shapes.order.owner);
  });
});

describe('reads of orders', () => {
  it('scenario 23: leave out unknown UIDs and errors, and merge a UID that comes twice', async () => {
    const [first, second] = shapes.accountOrders;
    if (first === undefined || second === undefined) throw new Error('the shapes have three orders');
    const elements = [
      { order: second },
      { order: first },
      { order: { ...first, class: 'liquidity' } },
      { error: { uid: UID, description: 'Internal server error' } },
      { order: { ...first, uid: `0x${'99'.repeat(56)}` } },
    ];
    const unknown: Hex = `0x${'33'.repeat(56)}`;
    const { upstream, requests } = upstreamFixture(() => json(200, elements));
    const uids = [uidOf(first), unknown, UID, uidOf(second), uidOf(first)];
    const read = await upstream.getOrders(uids);
    expect(read.status === 'read' && read.value.map(({ uid, class: name }) => [uid, name])).toEqual([
      [first.uid, 'limit'],
      [second.uid, 'limit'],
    ]);
    expect(requests[0]?.body).toEqual([first.uid, unknown, UID, second.uid]);
    const reversed = [{ order: { ...first, class: 'liquidity' } }, { order: first }];
    expect(parseElements(reversed, [uidOf(first)])).toMatchObject([{ class: 'limit' }]);
  });

  it('scenario 23: of 129 UIDs fail without a request, and of none are empty', async () => {
    const { upstream, requests, clock } = upstreamFixture(() => json(200, []));
    const uids = Array.from({ length: 129 }, (_, i): Hex => `0x${i.toString(16).padStart(112, '0')}`);
    expect(await upstream.getOrders(uids)).toMatchObject({ status: 'failed' });
    expect(await upstream.getOrders([])).toMatchObject({ status: 'read', value: [], startedAt: clock.now() });
    expect(requests).toHaveLength(0);
  });

  it('scenario 18: of a page with a bad row fail with the status 500, and count rows that cannot be read', async () => {
    const answers = [
      json(500, { errorType: 'InternalServerError', description: '' }),
      json(200, [...shapes.accountOrders, { ...shapes.order, kind: 'swap' }, { kind: 'swap' }]),
    ];
    const { upstream, advance } = upstreamFixture(() => answers.shift() ?? 'silence');
    expect(await upstream.listOrders(OWNER, PAGE)).toEqual({
      status: 'failed',
      reason: 'responded with status 500 (InternalServerError)',
      httpStatus: 500,
    });
    expect(upstream.status().paused).toEqual({});
    await advance(1000);
    const page = await upstream.listOrders(OWNER, PAGE);
    const uids = [...shapes.accountOrders, shapes.order].map(uidOf);
    expect(page).toMatchObject({ status: 'read', value: { rows: [...uids, null] } });
    expect(page.status === 'read' && page.value.orders).toHaveLength(3);
  });

  it('of trades fail as a whole if one row cannot be read', async () => {
    const rows = [...shapes.trades, { ...shapes.trades[0], sellAmount: null }];
    const { upstream, requests } = upstreamFixture(() => json(200, rows));
    expect(await upstream.listTrades({ uid: UID }, PAGE)).toMatchObject({ status: 'failed', httpStatus: 200 });
    expect(requests[0]?.url.search).toBe(`?orderUid=${UID}&offset=0&limit=10`);
  });

  it('report each request, and none that was not sent', async () => {
    const { upstream, calls } = upstreamFixture(({ method }) => (method === 'GET' ? json(200, []) : html(429)));
    await upstream.listOrders(OWNER, PAGE);
    await upstream.submitOrder({});
    await upstream.submitOrder({});
    expect(calls).toEqual([
      { class: 'read', outcome: 'ok', ms: 0 },
      { class: 'write', outcome: 'blocked', ms: 0 },
    ]);
  });

  it('store a document by its hash', async () => {
    const { upstream, requests } = upstreamFixture(() => json(201, `0x${'ab'.repeat(32)}`));
    expect(await upstream.putAppData(`0x${'ab'.repeat(32)}`, '{}')).toEqual({ status: 'accepted' });
    expect(requests).toMatchObject([{ method: 'PUT', body: { fullAppData: '{}' } }]);
    expect(requests[0]?.url.pathname).toBe(`/mainnet/api/v1/app_data/0x${'ab'.repeat(32)}`);
  });

  it.each([
    ['https://barn.api.cow.fi/mainnet', 1, 'is the staging book'],
    ['https://api.cow.fi/xdai', 1, 'is of chain 100; this book is of 1'],
    ['https://api.cow.fi/', 1, 'is no book'],
    ['https://partners.cow.fi/mainnet', 100, 'is of chain 1; this book is of 100'],
  ])('scenario 37: are refused at the start for a book of another domain: %s, chain %i', (url, chainId, reason) => {
    const context = { ...DOMAIN, clock: manualClock(), onCall: () => {} };
    expect(() => orderBookUpstream({ url }).open({ ...context, chainId })).toThrow(reason);
    expect(() => orderBookUpstream({ url: 'https://api.cow.fi/mainnet' }).open(context)).not.toThrow();
  });

  it('end when the book is closed, and begin again when it is opened', async () => {
    const { upstream, clock, requests } = upstreamFixture();
    const results = [upstream.submitOrder({}), upstream.listOrders(OWNER, PAGE), upstream.quote({})];
    const waiting = upstream.listOrders(OWNER, { offset: 5, limit: 1 });
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    upstream.close();
    expect(await Promise.all(results)).toMatchObject([
      { status: 'unknown' },
      { status: 'failed' },
      { status: 'blocked' },
    ]);
    expect(await waiting).toMatchObject({ status: 'blocked' });
    expect(await upstream.submitOrder({})).toMatchObject({ status: 'blocked' });
    expect(clock.pending).toBe(0);
    upstream.open({ ...DOMAIN, clock, onCall: () => {} });
    void upstream.quote({});
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(requests).toHaveLength(3);
  });
});
