import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PreparedOrder } from '../../../src/orders/order-json.ts';
import { renderPrepared } from '../../../src/orders/order-json.ts';
import { renderByUids } from '../../../src/orders/render-by-uids.ts';
import { NOW, order } from '../../conformance/orders.ts';

function prepared(n: number, document: string, quoted: boolean): PreparedOrder {
  const { uid } = order(n);
  return {
    uid,
    state: 'open',
    validTo: NOW + 10,
    version: 1,
    bare: false,
    bytes: undefined,
    head: `{"uid":"${uid}"`,
    middle: ',"status":"',
    tail: `","fullAppData":${JSON.stringify(document)}`,
    quote: quoted ? { body: '{"solver":"é"}', metadata: '{}' } : null,
  };
}

const text = (bytes: Uint8Array) => new TextDecoder('utf-8', { fatal: true }).decode(bytes);

test('by_uids response has the bytes of the separately rendered orders', () => {
  const document = fc.string({ unit: 'binary', maxLength: 2000 });
  const some = fc.array(fc.tuple(document, fc.boolean()), { maxLength: 60 });
  fc.assert(
    fc.property(some, some, fc.constantFrom(NOW, NOW + 20), (before, after, now) => {
      const kept = before.map(([content, quoted], i) => prepared(i, content, quoted));
      const fresh = after.map(([content, quoted], i) => prepared(i + 100, content, quoted));
      const wanted = [...kept, ...fresh].map((each) => `{"order":${renderPrepared(each, now).json}}`);
      for (let i = 0; i < 2; i++) {
        expect(text(renderByUids({ cached: kept, loaded: fresh, unreadable: [], now }))).toBe(`[${wanted.join(',')}]`);
      }
    }),
    { numRuns: 200 },
  );
});

test('by_uids response holds many long orders and later ones', () => {
  const kept = Array.from({ length: 128 }, (_, n) => prepared(n, '€'.repeat(10_000), false));
  const large = renderByUids({ cached: kept, loaded: kept, unreadable: [], now: NOW });
  expect(JSON.parse(text(large))).toHaveLength(256);
  expect(text(renderByUids({ cached: [], loaded: [], unreadable: [], now: NOW }))).toBe('[]');
  expect(JSON.parse(text(large))).toHaveLength(256); // its content is intact
});

test('by_uids buffer grows with its content and is reset after a very long response', () => {
  for (const length of [450_000, 10, 24_000, 450_000, 9_000, 140_000, 10]) {
    const order = prepared(1, '€'.repeat(length), false);
    const wanted = `[{"order":${renderPrepared(order, NOW).json}}]`;
    expect(text(renderByUids({ cached: [], loaded: [order], unreadable: [], now: NOW })) === wanted).toBe(true);
    expect(text(renderByUids({ cached: [order], loaded: [], unreadable: [], now: NOW })) === wanted).toBe(true);
  }
});

test('by_uids response names damaged orders', () => {
  const [uid, other] = [order(1).uid, order(2).uid];
  const damaged = [uid, other].map((each) => ({ uid: each, description: 'cannot be read' }));
  const answer = text(renderByUids({ cached: [], loaded: [prepared(3, '', false)], unreadable: damaged, now: NOW }));
  expect(JSON.parse(answer).slice(1)).toEqual(damaged.map((error) => ({ error })));
});
