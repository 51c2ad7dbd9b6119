import { orderBookQuotes, orderBookUpstream } from 'intentbook/upstream';
import { describe, expect, it } from 'vitest';
import { json, OWNER, upstreamFixture } from './upstream-fixture.ts';

describe('the URL of another book', () => {
  it.each(['/api/v1', '/api/v1/', '/api/v2', '/api/v1/orders'])('is refused with the path %s', (path) => {
    const url = `http://user:secret@book.example/sepolia${path}`;
    const message = `url must be the part before ${path}: http://book.example/sepolia`;
    expect(() => orderBookUpstream({ url })).toThrow(new TypeError(`orderBookUpstream: ${message}`));
    expect(() => orderBookQuotes({ url })).toThrow(new TypeError(`orderBookQuotes: ${message}`));
    const options = { url: 'http://book.example/sepolia', readFallbacks: [url] };
    expect(() => orderBookUpstream(options)).toThrow(new TypeError(`orderBookUpstream: ${message}`));
  });

  it('is reported as wrong by each class of calls if no route exists', async () => {
    const { upstream } = upstreamFixture(() => json(404, { errorType: 'NotFound', description: 'no such route' }));
    expect(await upstream.nativePrice(OWNER)).toMatchObject({ status: 'failed' });
    await upstream.submitOrder({});
    await upstream.quote({});
    const reason = 'responded with status 404 (NotFound): there is no such route, so the base URL is wrong';
    const failing = { since: expect.any(Number), reason };
    expect(upstream.status().failing).toEqual({ read: failing, write: failing, quote: failing });
  });
});
