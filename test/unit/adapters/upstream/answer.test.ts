import { describe, expect, it } from 'vitest';
import { classifyAnswer, classifyError } from '../../../../adapters/upstream/answer.ts';
import { parseRetryAfter } from '../../../../src/concurrency/service-fetch.ts';
import { html, json, OWNER, settle, UID, upstreamFixture } from './upstream-fixture.ts';

const text = (status: number, body = '', type = 'text/plain; charset=utf-8') =>
  new Response(body === '' ? null : body, { status, headers: { 'content-type': type } });

const error = (status: number, errorType: string) => json(status, { errorType, description: 'text' });

/** The result of a write, a read and a quote for each response. */
const CASES: readonly (readonly [string, () => Response | Error, string, string, string])[] = [
  ['201 with a UID', () => json(201, UID), 'accepted', 'failed', 'failed'],
  ['200 with HTML', () => html(200), 'unknown', 'failed', 'failed'],
  ['200 that is empty', () => text(200), 'unknown', 'failed', 'failed'],
  ['200 with JSON that is cut', () => text(200, '["0x12'), 'unknown', 'failed', 'failed'],
  ['200 with another object', () => json(200, { ok: true }), 'unknown', 'failed', 'failed'],
  ['200 with a list', () => json(200, []), 'unknown', 'read', 'failed'],
  ['200 with a quote', () => json(200, { quote: {}, id: 5 }), 'unknown', 'failed', 'quoted'],
  ['400 with a code', () => error(400, 'InsufficientBalance'), 'rejected', 'failed', 'rejected'],
  ['404 with a code', () => error(404, 'NoLiquidity'), 'rejected', 'failed', 'rejected'],
  ['403 with a code', () => error(403, 'Forbidden'), 'rejected', 'failed', 'rejected'],
  ['401 with a code', () => error(401, 'WrongOwner'), 'rejected', 'failed', 'rejected'],
  ['403 with HTML', () => html(403), 'blocked', 'blocked', 'blocked'],
  ['401 without a code', () => json(401, { message: 'Unauthorized' }), 'blocked', 'blocked', 'blocked'],
  ['402', () => json(402, {}), 'blocked', 'blocked', 'blocked'],
  ['429 with a code', () => error(429, 'RateLimited'), 'blocked', 'blocked', 'blocked'],
  ['302', () => text(302), 'blocked', 'blocked', 'blocked'],
  ['503 with HTML', () => html(503), 'unknown', 'blocked', 'blocked'],
  ['408', () => text(408), 'unknown', 'failed', 'failed'],
  ['425', () => text(425), 'unknown', 'failed', 'failed'],
  ['500 with a code', () => error(500, 'InternalServerError'), 'unknown', 'failed', 'failed'],
  ['502 with HTML', () => html(502), 'unknown', 'failed', 'failed'],
  ['504', () => html(504), 'unknown', 'failed', 'failed'],
  ['413 with text', () => text(413, 'length limit exceeded'), 'rejected', 'failed', 'rejected'],
  ['422 with text', () => text(422, 'Failed to deserialize'), 'rejected', 'failed', 'rejected'],
  ['400 that is empty', () => text(400), 'rejected', 'failed', 'rejected'],
  ['400 with HTML', () => html(400), 'blocked', 'failed', 'failed'],
  ['404 of a route that does not exist', () => error(404, 'NotFound'), 'blocked', 'failed', 'failed'],
  ['404 that is empty', () => text(404), 'blocked', 'failed', 'failed'],
  ['a connection that is reset', () => cause('ECONNRESET'), 'unknown', 'failed', 'failed'],
  ['a connection that is refused', () => cause('ECONNREFUSED', 'connect'), 'blocked', 'blocked', 'blocked'],
  ['a name that is unknown', () => cause('ENOTFOUND', 'getaddrinfo'), 'blocked', 'blocked', 'blocked'],
  ['a certificate that has expired', () => cause('CERT_HAS_EXPIRED'), 'blocked', 'blocked', 'blocked'],
];

function cause(code: string, syscall?: string): Error {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code, syscall }) });
}

describe('class of an answer', () => {
  it.each(CASES)('%s', async (_, answer, write, read, quote) => {
    const results = [];
    for (const call of ['submitOrder', 'listOrders', 'quote'] as const) {
      const { upstream } = upstreamFixture(() => answer());
      if (call === 'submitOrder') results.push(await upstream.submitOrder({}));
      if (call === 'listOrders') results.push(await upstream.listOrders(OWNER, { offset: 0, limit: 10 }));
      if (call === 'quote') results.push(await upstream.quote({}));
    }
    expect(results.map(({ status }) => status)).toEqual([write, read, quote]);
  });

  it('scenario 15: a JSON `Forbidden` is a final rejection with code and text, and pauses nothing', async () => {
    const { upstream } = upstreamFixture(() => error(403, 'Forbidden'));
    expect(await upstream.submitOrder({})).toEqual({
      status: 'rejected',
      code: 'Forbidden',
      description: 'text',
      httpStatus: 403,
    });
    expect(upstream.status().paused).toEqual({});
  });

  it('of a rejection keeps its data', () => {
    const body = JSON.stringify({
      errorType: 'SellAmountDoesNotCoverFee',
      description: '',
      data: { fee_amount: '0x5' },
    });
    const verdict = classifyAnswer('quote', { status: 400, headers: new Headers(), text: body }, 0);
    expect(verdict).toMatchObject({ rejection: { data: { fee_amount: '0x5' } } });
  });

  it('of several failed addresses is that of the first', () => {
    const errors = [Object.assign(new Error('a'), { code: 'ECONNREFUSED', syscall: 'connect' })];
    expect(classifyError(new TypeError('fetch failed', { cause: new AggregateError(errors) }))).toMatchObject({
      outcome: 'blocked',
      pause: { kind: 'unreachable' },
    });
  });

  it('of a port that fetch does not allow names the reason, which has no code', () => {
    const verdict = classifyError(new TypeError('fetch failed', { cause: new Error('bad port') }));
    expect(verdict).toEqual({ outcome: 'lost', reason: 'no response: fetch failed (bad port)' });
  });

  it('of a cancellation is accepted only with text in JSON', async () => {
    const answers = [json(200, 'Cancelled'), html(200), json(200, {})];
    const { upstream, advance } = upstreamFixture(() => answers.shift() ?? 'silence');
    const results = [upstream.cancelOrders({}), upstream.cancelOrder(UID, {}), upstream.cancelOrders({})];
    await advance(2000);
    expect((await Promise.all(results)).map(({ status }) => status)).toEqual(['accepted', 'unknown', 'unknown']);
  });
});

describe('Retry-After', () => {
  const now = Date.parse('2026-05-01T12:00:00Z');
  it.each([
    ['5', undefined, 5000],
    ['0.5', undefined, 500],
    ['86400', undefined, 600_000],
    ['-5', undefined, 0],
    ['soon', undefined, undefined],
    ['', undefined, undefined],
    ['Fri, 01 May 2026 12:00:30 GMT', undefined, 30_000],
    ['Fri, 01 May 2026 11:00:00 GMT', undefined, 0],
    ['Sat, 02 May 2026 12:00:00 GMT', undefined, 600_000],
    ['Fri, 01 May 2026 12:02:00 GMT', 'Fri, 01 May 2026 12:01:30 GMT', 30_000],
  ])('scenario 13: "%s" with the date %s is %s ms', (value, date, expected) => {
    const headers = new Headers(date === undefined ? { 'retry-after': value } : { 'retry-after': value, date });
    expect(parseRetryAfter(headers, now)).toBe(expected);
  });

  it.each([
    ['Fri May  1 12:02:00 2026', 'Fri May  1 12:01:30 2026'],
    ['Friday, 01-May-26 12:02:00 GMT', 'Fri May  1 12:01:30 2026'],
  ])('"%s" with the date %s is in UTC, in any time zone', (value, date) => {
    const { TZ } = process.env;
    process.env['TZ'] = 'America/Los_Angeles';
    try {
      expect(parseRetryAfter(new Headers({ 'retry-after': value }), Date.parse('2026-05-01T12:01:30Z'))).toBe(30_000);
      const skewed = new Headers({ 'retry-after': value, date });
      expect(parseRetryAfter(skewed, now)).toBe(30_000);
    } finally {
      if (TZ === undefined) delete process.env['TZ'];
      else process.env['TZ'] = TZ;
    }
  });
});

describe('response above the size limit', () => {
  it('scenario 16: of a read is a failure, and of a write leaves the outcome unknown', async () => {
    const endless = () =>
      new Response(new ReadableStream({ pull: (stream) => stream.enqueue(new Uint8Array(2 ** 20).fill(32)) }));
    const { upstream } = upstreamFixture(endless);
    expect(await upstream.listOrders(OWNER, { offset: 0, limit: 10 })).toMatchObject({ status: 'failed' });
    expect(await upstream.submitOrder({})).toMatchObject({ status: 'unknown' });
  });
});

describe('time limit', () => {
  it('of a write leaves the outcome unknown, and of a read is a failure', async () => {
    const { upstream, clock, requests } = upstreamFixture();
    const results = [upstream.submitOrder({}), upstream.listOrders(OWNER, { offset: 0, limit: 10 })];
    await settle();
    clock.advance(20_000);
    expect(await Promise.all(results)).toMatchObject([{ status: 'unknown' }, { status: 'failed' }]);
    expect(requests.map(({ signal }) => signal.aborted)).toEqual([true, true]);
  });
});
