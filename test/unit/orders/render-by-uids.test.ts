import fc from 'fast-check';
import { expect, test } from 'vitest';
import { renderByUids } from '../../../src/orders/read.ts';
import { type PreparedOrder, renderPrepared } from '../../../src/records/order-json.ts';
import { NOW, order } from '../../conformance/orders.ts';

function prepared(n: number, document: string, quoted: boolean): PreparedOrder {
  const { uid } = order(n);
  return {
    uid,
    state: 'open',
    validTo: NOW + 10,
    version: 1,
    creationDate: 0,
    lacksDocument: false,
    element: undefined,
    rendered: undefined,
    request: 0,
    used: false,
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
    fc.property(some, (choices) => {
      const orders = choices.map(([content, quoted], i) => prepared(i, content, quoted));
      // Twice valid, then expired: the encoding is reused, and replaced with the status.
      for (const now of [NOW, NOW + 1, NOW + 20]) {
        const wanted = orders.map((each) => `{"order":${renderPrepared(each, now).json}}`);
        expect(text(renderByUids({ cached: orders, read: [], unreadable: [], now }))).toBe(`[${wanted.join(',')}]`);
      }
    }),
    { numRuns: 200 },
  );
});

test('by_uids response has the same bytes for orders that were read as bytes, read as text, or cached', () => {
  const document = fc.string({ unit: fc.constantFrom('a', '"', 'é', '€', '😀'), maxLength: 20 });
  const source = fc.constantFrom('cached', 'text', 'bytes');
  fc.assert(
    fc.property(fc.array(fc.tuple(document, source), { maxLength: 20 }), (choices) => {
      const orders = choices.map(([content, from], i) => ({ from, order: prepared(i, content, i % 3 === 0) }));
      const read = orders
        .filter(({ from }) => from !== 'cached')
        .map(({ from, order }) => ({
          order,
          encodedBody: from === 'bytes' ? new TextEncoder().encode(`${order.head}}`) : undefined,
        }));
      const cached = orders.filter(({ from }) => from === 'cached').map(({ order }) => order);
      const unreadable = choices.length % 2 === 0 ? [] : [{ uid: order(99).uid, description: 'cannot be read' }];
      const rendered = cached.concat(read.map(({ order }) => order)).map((each) => renderPrepared(each, NOW));
      const wanted = [
        ...rendered.map(({ json }) => `{"order":${json}}`),
        ...unreadable.map((error) => JSON.stringify({ error })),
      ];
      expect(text(renderByUids({ cached, read, unreadable, now: NOW }))).toBe(`[${wanted.join(',')}]`);
    }),
    { numRuns: 200 },
  );
});

test('by_uids response holds many long orders and later ones', () => {
  const kept = Array.from({ length: 128 }, (_, n) => prepared(n, '€'.repeat(10_000), false));
  const large = renderByUids({ cached: kept, read: [], unreadable: [], now: NOW });
  expect(JSON.parse(text(large))).toHaveLength(128);
  expect(text(renderByUids({ cached: [], read: [], unreadable: [], now: NOW }))).toBe('[]');
  expect(JSON.parse(text(large))).toHaveLength(128); // its content is intact
});

test('by_uids response names damaged orders', () => {
  const [uid, other] = [order(1).uid, order(2).uid];
  const damaged = [uid, other].map((each) => ({ uid: each, description: 'cannot be read' }));
  const answer = text(renderByUids({ cached: [prepared(3, '', false)], read: [], unreadable: damaged, now: NOW }));
  expect(JSON.parse(answer).slice(1)).toEqual(damaged.map((error) => ({ error })));
});
