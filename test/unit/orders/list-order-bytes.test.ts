import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ListQuery, Store } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { sqliteStore } from 'intentbook/sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';
import { ALICE, document, NOW, range, word } from '../../conformance/orders.ts';
import { completeOrder } from '../../support/complete-orders.ts';

const ORDERS = 300;

const folder = mkdtempSync(join(tmpdir(), 'intentbook-list-'));
let files = 0;

afterAll(() => rmSync(folder, { recursive: true }));

/** A book with more orders than one step of a listing reads, some of them with a document of their own. */
async function openBook(store: Store) {
  const book = createOrderBook({ chainId: DOMAIN.chainId, store });
  await book.start();
  for (const n of range(ORDERS)) {
    const appData = document(n % 5, '').hash;
    const order = completeOrder(n, { validTo: NOW + 1e9, appData: n % 7 === 0 ? word(n) : appData });
    await store.orders.insert([{ order, document: document(n % 5, `{"a":"é${n % 5}"}`) }]);
  }
  return book;
}

describe.each([
  ['memory', memoryStore],
  ['SQLite', () => sqliteStore({ path: join(folder, `${files++}.sqlite`) })],
] as const)('page as bytes from the %s store', (_name, createStore) => {
  test('equals the page as text', async () => {
    await using book = await openBook(createStore());
    const { list, listBytes } = book.orders.rendered;
    for (const query of [
      {},
      { limit: 1 },
      { limit: 127 },
      { limit: 128 },
      { limit: 129 },
      { limit: ORDERS - 1 },
      { limit: ORDERS },
      { limit: 1000 },
      { offset: 5, limit: 200 },
      { offset: ORDERS, limit: 10 },
      { owner: ALICE, status: 'open', limit: 100 },
      { status: 'cancelled' },
    ] satisfies ListQuery[]) {
      const [texts, encoded] = [await list(query), await listBytes(query)];
      const bytes = new TextDecoder('utf-8', { fatal: true }).decode(encoded.bytes);
      expect(bytes, JSON.stringify(query)).toBe(`[${texts.orders.map(({ json }) => json).join(',')}]`);
      expect(encoded).toMatchObject({ count: texts.orders.length });
      expect(encoded.next).toEqual(texts.next);
    }
  });

  test('is in memory that the caller provides', async () => {
    await using book = await openBook(createStore());
    const sizes: number[] = [];
    const memory = new Uint8Array(1e6);
    const allocate = (size: number) => {
      sizes.push(size);
      return memory.subarray(0, size);
    };
    const { bytes } = await book.orders.rendered.listBytes({ limit: 200 }, { allocate });
    expect(bytes.buffer).toBe(memory.buffer);
    expect(sizes).toEqual([bytes.length]);
    expect(JSON.parse(new TextDecoder().decode(bytes))).toHaveLength(200);
  });
});
