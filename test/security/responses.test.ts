import type { ApiRequest } from 'intentbook';
import { createApi } from 'intentbook';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AdmissionFixture } from '../unit/orders/admission-fixture.ts';
import { accepted, admissionFixture, alice, orderOf } from '../unit/orders/admission-fixture.ts';

let fixture: AdmissionFixture;
let uid: string;
beforeAll(async () => {
  fixture = await admissionFixture();
  uid = await accepted(fixture.book, await orderOf());
});
afterAll(() => fixture[Symbol.asyncDispose]());

function send(method: string, target: string, headers: Record<string, string> = {}, body?: string) {
  const [path = '', query = ''] = target.split('?');
  const request: ApiRequest = {
    method,
    path,
    query,
    header: (name) => headers[name],
    body: body === undefined ? { type: 'none' } : { type: 'bytes', bytes: body },
  };
  return createApi(fixture.book).handle(request);
}

const READS = () => [
  '/',
  '/api/v1/version',
  '/api/v1/orders',
  `/api/v1/orders/${uid}`,
  '/api/v1/orders/0x',
  '/nowhere',
  '/api/v1/auction',
  `/api/v1/account/${alice}/orders?limit=1`,
  `/api/v1/orders?limit=1&owner=${alice}`,
  '/api/v1/trades',
  '/api/v1/quote',
];

// A cache identifies a request by method and target, so responses must not depend on anything else.
test('responses do not depend on the Host header or the proxies', async () => {
  const claims = {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    forwarded: 'host=evil.example;proto=http',
    'x-forwarded-proto': 'http',
    'x-forwarded-prefix': '/evil',
    'x-original-url': '/evil',
    'x-rewrite-url': '/evil',
    origin: 'https://evil.example',
    referer: 'https://evil.example',
    'x-http-method-override': 'DELETE',
    cookie: 'a=b',
  };
  for (const target of READS()) {
    const [plain, claimed] = [await send('GET', target), await send('GET', target, claims)];
    expect(claimed).toEqual(plain);
    expect(JSON.stringify(claimed)).not.toContain('evil');
  }
});

test('pages can be read from any origin, without credentials', async () => {
  for (const target of READS()) {
    const { headers } = await send('GET', target, { origin: 'https://evil.example', cookie: 'a=b' });
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
    expect(headers).not.toHaveProperty('set-cookie');
  }
});

const JSON_TYPE = { 'content-type': 'application/json' };

test.each<[number, string, string, Record<string, string>, string?]>([
  [400, 'GET', '/api/v1/orders/0x', {}],
  [404, 'GET', `/api/v1/orders/0x${'00'.repeat(56)}`, {}],
  [404, 'GET', '/nowhere', {}],
  [405, 'PUT', '/api/v1/orders', {}],
  [400, 'POST', '/api/v1/orders', JSON_TYPE, '{'],
  [413, 'POST', '/api/v1/orders', JSON_TYPE, ' '.repeat(200_000)],
  [415, 'POST', '/api/v1/orders', {}, '{}'],
  [422, 'POST', '/api/v1/orders', JSON_TYPE, '{}'],
  [403, 'GET', '/restricted/api/v2/solver_competition/1', {}],
])('rejections are not cached: %i %s %s', async (expected, method, target, headers, body) => {
  const { status, headers: answered } = await send(method, target, headers, body);
  expect([status, answered['cache-control']]).toEqual([expected, 'no-store']);
});
