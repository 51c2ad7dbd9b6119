import { describe, expect, it } from 'vitest';
import { html, json, OWNER, type Script, settle, UID, upstreamFixture } from './upstream-fixture.ts';

const PAGE = { offset: 0, limit: 1 };

/** Reads once a second for some time. */
async function poll({ upstream, advance }: ReturnType<typeof upstreamFixture>, seconds: number) {
  for (let i = 0; i < seconds; i++) {
    void upstream.listOrders(OWNER, PAGE);
    await settle();
    await advance(1000, 500);
  }
}

describe('pause of a class', () => {
  it('scenario 12: probes 60, 120 and 240 s after a 429 without Retry-After, and then continues', async () => {
    let isBlocked = true;
    const fixture = upstreamFixture(() => (isBlocked ? json(429, { message: 'Too many requests' }) : json(200, [])));
    const { upstream, requests, clock } = fixture;
    await poll(fixture, 170);
    expect(upstream.status().paused.read).toMatchObject({ reason: 'responded with status 429' });
    await poll(fixture, 310);
    const seconds = requests.map(({ at }) => Math.round(at / 1000));
    expect(seconds).toEqual([0, 60, 180, 420]);
    isBlocked = false;
    const until = upstream.status().paused.read?.until ?? 0;
    expect(Math.round((until - clock.now()) / 1000)).toBe(420);
    await poll(fixture, 425);
    expect(upstream.status().paused).toEqual({});
    expect(await upstream.listOrders(OWNER, PAGE)).toMatchObject({ status: 'read' });
  });

  it('shows that its last call failed after its end, until a call succeeds', async () => {
    let isBlocked = true;
    const fixture = upstreamFixture(() => (isBlocked ? json(429, { message: 'Too many requests' }) : json(200, [])));
    const { upstream, advance } = fixture;
    await upstream.listOrders(OWNER, PAGE);
    await advance(61_000, 1000);
    expect(upstream.status()).toMatchObject({
      paused: {},
      failing: { read: { reason: 'responded with status 429' } },
    });
    isBlocked = false;
    await upstream.listOrders(OWNER, PAGE);
    expect(upstream.status()).toMatchObject({ paused: {}, failing: {} });
  });

  it('scenario 13: has the length of Retry-After, also of a date, and 600 s at most', async () => {
    for (const [value, seconds] of [
      ['7', 7],
      ['86400', 600],
      ['-1', 0],
    ] as const) {
      const { upstream, clock } = upstreamFixture(() => html(429, { 'retry-after': value }));
      const result = await upstream.submitOrder({});
      expect(result).toMatchObject({ status: 'blocked', until: clock.now() + seconds * 1000 });
    }
  });

  it('scenario 14: of writes after a 403 of the edge sends no order, and leaves reads open', async () => {
    const fixture = upstreamFixture(({ method }) => (method === 'POST' ? html(403) : json(200, [])));
    const { upstream, requests, advance } = fixture;
    const first = await upstream.submitOrder({});
    expect(first).toMatchObject({ status: 'blocked', reason: expect.stringContaining('403') });
    await advance(10_000, 1000);
    expect(await upstream.submitOrder({})).toMatchObject({ status: 'blocked' });
    expect(requests).toHaveLength(1);
    expect(await upstream.listOrders(OWNER, PAGE)).toMatchObject({ status: 'read' });
  });

  it('ends the wait of calls of its class', async () => {
    const { upstream, requests } = upstreamFixture(() => html(429));
    const results = await Promise.all([0, 1, 2].map((offset) => upstream.listOrders(OWNER, { offset, limit: 1 })));
    expect(results.map(({ status }) => status)).toEqual(['blocked', 'blocked', 'blocked']);
    expect(requests).toHaveLength(1);
  });

  it('sends one probe at a time, and pauses again if it gets no response', async () => {
    const scripts: Script[] = [html(503, { 'retry-after': '5' })];
    const { upstream, requests, advance, clock } = upstreamFixture(() => scripts.shift() ?? 'silence');
    await upstream.listOrders(OWNER, PAGE);
    await advance(5000, 1000);
    const probe = upstream.listOrders(OWNER, PAGE);
    await settle();
    expect(await upstream.listOrders(OWNER, { offset: 1, limit: 1 })).toMatchObject({ status: 'blocked' });
    requests[1]?.respond(new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNRESET' }) }));
    expect(await probe).toMatchObject({ status: 'failed' });
    expect(upstream.status().paused.read?.until).toBe(clock.now() + 60_000);
  });

  it('does not grow by requests that were under way when it began', async () => {
    const { upstream, requests, clock, advance } = upstreamFixture();
    void upstream.listOrders(OWNER, PAGE);
    await settle();
    void upstream.listOrders(OWNER, { offset: 1, limit: 1 });
    await advance(1000);
    for (const request of requests) request.respond(html(429));
    await settle();
    expect(requests).toHaveLength(2);
    expect(upstream.status().paused.read?.until).toBe(clock.now() + 60_000);
  });

  it('after a refused connection begins with one second and ends at a minute', async () => {
    const refused = new TypeError('fetch failed', {
      cause: Object.assign(new Error(), { code: 'ECONNREFUSED', syscall: 'connect' }),
    });
    const fixture = upstreamFixture(() => refused);
    await poll(fixture, 200);
    const gaps = fixture.requests.slice(1).map(({ at }, i) => Math.round((at - (fixture.requests[i]?.at ?? 0)) / 1000));
    expect(gaps).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  });
});

describe('key of a partner', () => {
  it('scenario 43: that is revoked pauses its class, and a new one of the file continues at once', async () => {
    let key = 'old\n';
    const respond = ({ headers }: { readonly headers: Headers }) =>
      headers.get('x-api-key') === 'new' ? json(200, []) : json(403, { message: 'Forbidden' });
    const { upstream, requests, advance } = upstreamFixture(respond, { apiKey: () => key });
    expect(await upstream.listOrders(OWNER, PAGE)).toMatchObject({ status: 'blocked' });
    expect(upstream.status().paused.read?.reason).toContain('the API key is not valid');
    await advance(2000, 1000);
    expect(await upstream.listOrders(OWNER, PAGE)).toMatchObject({ status: 'blocked' });
    key = 'new\n';
    expect(await upstream.listOrders(OWNER, PAGE)).toMatchObject({ status: 'read' });
    expect(requests.map(({ headers }) => headers.get('x-api-key'))).toEqual(['old', 'new']);
    expect(upstream.status().paused).toEqual({});
  });

  it('that cannot be read sends nothing, and is not repeated in the reason', async () => {
    const failing = () => Promise.reject(new Error('ENOENT: /run/secrets/key'));
    for (const apiKey of [failing, () => 'secret\nkey']) {
      const { upstream, requests } = upstreamFixture(() => json(200, []), { apiKey });
      const result = await upstream.submitOrder({});
      expect(result).toMatchObject({ status: 'blocked' });
      expect(JSON.stringify(result)).not.toContain('secret\\nkey');
      expect(requests).toHaveLength(0);
    }
  });

  it('and headers are not sent to further URLs of reads', async () => {
    const { upstream, requests } = upstreamFixture(
      ({ url }) => (url.host === 'book.example' ? html(502) : json(200, [])),
      { apiKey: 'key', headers: { 'x-partner': 'p' }, readFallbacks: ['https://user:pass@second.example/mainnet'] },
    );
    await upstream.listOrders(OWNER, PAGE);
    expect(requests.map(({ headers }) => [headers.get('x-api-key'), headers.get('x-partner')])).toEqual([
      ['key', 'p'],
      [null, null],
    ]);
    expect(requests[1]?.headers.get('authorization')).toBe(`Basic ${btoa('user:pass')}`);
  });
});

describe('a call that its caller ends', () => {
  /** An upstream that responds once with 429, and then not at all. */
  function throttled() {
    let count = 0;
    return upstreamFixture(() => (count++ === 0 ? json(429, {}, { 'retry-after': '1' }) : 'silence'));
  }

  it.each(['quote', 'quotes'] as const)('leaves the pause as it was: %s', async (method) => {
    const { upstream, requests, advance } = throttled();
    await upstream.quote({});
    await advance(1_001);
    const call = new AbortController();
    const sent =
      method === 'quote' ? upstream.quote({}, call) : upstream.quotes({}, call)[Symbol.asyncIterator]().next();
    await settle();
    call.abort();
    await sent;
    expect(upstream.status().paused).toEqual({});
    void upstream.quote({});
    await advance(1_000);
    expect(requests).toHaveLength(3);
  });

  it('proves nothing if it cannot be written as JSON, and keeps no turn', async () => {
    const { upstream } = upstreamFixture(() => json(200, { quote: {}, id: 1 }));
    for (let i = 0; i < 4; i++) {
      await expect(upstream.quote({ amount: 1n })).rejects.toThrow('BigInt');
      const found: unknown[] = [];
      for await (const each of upstream.quotes({ amount: 1n })) found.push(each);
      expect(found).toEqual([{ status: 'failed', reason: expect.stringContaining('BigInt') }]);
    }
    expect(await upstream.quote({})).toMatchObject({ status: 'quoted' });
  });
});

describe('further URLs of reads', () => {
  it('scenario 38: respond with evidence of their own request and host; writes never fail over', async () => {
    const { upstream, requests, clock } = upstreamFixture(
      ({ url }) => (url.host === 'book.example' ? 'silence' : json(200, [])),
      { readFallbacks: ['https://second.example/mainnet'] },
    );
    const start = clock.now();
    const read = upstream.getOrders([UID]);
    await settle();
    clock.advance(15_000);
    expect(await read).toEqual({ status: 'read', value: [], startedAt: start + 15_000, host: 'second.example' });
    const write = upstream.submitOrder({});
    const quote = upstream.quote({});
    await settle();
    clock.advance(20_000);
    expect(await write).toMatchObject({ status: 'unknown' });
    expect(await quote).toMatchObject({ status: 'failed' });
    expect(requests.map(({ url, method }) => `${method} ${url.host}${url.pathname}`)).toEqual([
      'POST book.example/mainnet/api/v1/orders/by_uids',
      'POST second.example/mainnet/api/v1/orders/by_uids',
      'POST book.example/mainnet/api/v1/orders',
      'POST book.example/mainnet/api/v1/quote',
    ]);
  });
});

describe('clock of the host', () => {
  it('scenario 40: is compared with the `Date` of responses, except those of a cache', async () => {
    const { upstream, clock, advance } = upstreamFixture(({ url }) => {
      const date = new Date(Math.floor((clock.now() + 90_000) / 1000) * 1000).toUTCString();
      return url.searchParams.get('offset') === '0'
        ? json(200, [], { date })
        : json(200, [], { date: 'Thu, 01 Jan 1970 00:00:00 GMT', age: '5' });
    });
    expect(upstream.status().clockSkew).toBeUndefined();
    await upstream.listOrders(OWNER, PAGE);
    await advance(1000);
    await upstream.listOrders(OWNER, { offset: 1, limit: 1 });
    expect(Math.abs((upstream.status().clockSkew ?? 0) - 90_000)).toBeLessThanOrEqual(1000);
  });
});
