import fc from 'fast-check';
import type { OrderBook } from 'intentbook';
import { expect, test } from 'vitest';
import { accepted, admissionFixture, orderOf } from './admission-fixture.ts';

const MISSING = `0x${'00'.repeat(56)}`;
const toUpper = (uid: string) => `0x${uid.slice(2).toUpperCase()}`;

async function readMany(book: OrderBook, uids: readonly string[]): Promise<{ order: { uid: string } }[]> {
  return JSON.parse(new TextDecoder().decode(await book.orders.rendered.getManyBytes(uids)));
}

test('read of many orders returns each once in any case, from the cache and from the store', async () => {
  await using fixture = await admissionFixture();
  const stored: string[] = [];
  for (let i = 0; i < 4; i++) stored.push(await accepted(fixture.book, await orderOf()));
  const spelling = fc.constantFrom(...stored, ...stored.map(toUpper), MISSING);
  await fc.assert(
    fc.asyncProperty(fc.array(spelling, { maxLength: 12 }), async (uids) => {
      const wanted = new Set(uids.map((uid) => uid.toLowerCase()));
      wanted.delete(MISSING);
      const found = (await readMany(fixture.book, uids)).map(({ order }) => order.uid);
      expect(found.toSorted()).toEqual([...wanted].toSorted());
    }),
    { numRuns: 200 },
  );
});

test('read of many orders from the cache makes no store call', async () => {
  await using fixture = await admissionFixture();
  const uid = await accepted(fixture.book, await orderOf());
  await readMany(fixture.book, [uid]);
  const calls = fixture.calls.get;
  expect(await readMany(fixture.book, [uid, toUpper(uid)])).toHaveLength(1);
  expect(fixture.calls.get).toBe(calls);
});

test.each<[string, unknown]>([
  ['a short text', '0x12'],
  ['a number', 7],
  ['null', null],
  ['a list with a UID', [MISSING]],
  ['an object without a text form', { toString: 1, valueOf: 1 }],
])('read of many orders rejects %s among cached orders', async (_, invalid) => {
  await using fixture = await admissionFixture();
  const uid = await accepted(fixture.book, await orderOf());
  await readMany(fixture.book, [uid]);
  const read = fixture.book.orders.rendered.getManyBytes([uid, invalid as string]);
  await expect(read).rejects.toMatchObject({ code: 'InvalidParameter' });
});
