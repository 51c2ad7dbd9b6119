import assert from 'node:assert/strict';
import { signCancellation, signOrder } from '../../../support/orders.ts';
import type { HttpCase } from '../case.ts';
import { inTenMinutes, newOwner, ORDERS, place } from '../case.ts';

export const CACHING: readonly HttpCase[] = [
  {
    name: 'an order has an ETag that changes with it, and a matching request gets 304',
    async run(fixture) {
      const owner = newOwner();
      const uid = await place(fixture, await signOrder(owner, { validTo: inTenMinutes(fixture) }));
      const path = `${ORDERS}/${uid}`;
      const first = await fixture.send('GET', path);
      const etag = first.header('etag') ?? '';
      assert.match(etag, /^"[^"]+"$/);
      assert.equal(first.header('cache-control'), 'no-cache');
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await fixture.send('GET', path, { headers: { 'if-none-match': known } });
        assert.deepEqual([again.status, again.text, again.header('etag')], [304, '', etag], known);
      }
      assert.equal((await fixture.send('GET', path, { headers: { 'if-none-match': '"other"' } })).status, 200);
      const signed = await signCancellation(owner, { orderUids: [uid] });
      await fixture.send('DELETE', ORDERS, { body: { orderUids: [uid], ...signed } });
      const changed = await fixture.send('GET', path, { headers: { 'if-none-match': etag } });
      assert.equal(changed.status, 200);
      assert.notEqual(changed.header('etag'), etag);
    },
  },
  {
    name: 'HEAD responds like GET without the body',
    async run(fixture) {
      const uid = await place(fixture, await signOrder(newOwner(), { validTo: inTenMinutes(fixture) }));
      for (const path of [`${ORDERS}/${uid}`, '/api/v1/version', '/', ORDERS, '/api/nowhere']) {
        const [get, head] = [await fixture.send('GET', path), await fixture.send('HEAD', path)];
        assert.equal(head.status, get.status, path);
        assert.equal(head.text, '', path);
        assert.equal(head.header('etag'), get.header('etag'), path);
        assert.equal(head.header('content-length'), String(Buffer.byteLength(get.text)), path);
      }
    },
  },
];
