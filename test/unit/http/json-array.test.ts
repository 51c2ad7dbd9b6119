import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { renderList, renderPages } from '../../../src/http/json-array.ts';
import { setTickScheduler } from '../../../src/ports/clock.ts';

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const render = (values: readonly number[]) => values.map((value) => JSON.stringify({ value, text: 'ß€' })).join(',');

async function readBody(body: string | AsyncIterable<string>): Promise<string[]> {
  const chunks: string[] = [];
  if (typeof body === 'string') return [body];
  for await (const chunk of body) chunks.push(chunk);
  return chunks;
}

describe('JSON array of a list', () => {
  test.each([0, 1, 127, 128])('is text with %i elements', async (count) => {
    expect(await renderList(range(count), render)).toBe(`[${render(range(count))}]`);
  });

  test.each([129, 256, 1000])('has the same content as a stream with %i elements', async (count) => {
    const chunks = await readBody(await renderList(range(count), render));
    expect(chunks.length).toBeGreaterThan(2);
    expect(chunks.join('')).toBe(`[${render(range(count))}]`);
  });

  test('is JSON of the elements by default', async () => {
    const orders = range(200).map((n) => ({ n, text: '"[,]' }));
    expect((await readBody(await renderList(orders))).join('')).toBe(JSON.stringify(orders));
  });

  // A page of 1000 orders is more than a megabyte, which would delay every other request.
  test('is rendered in steps of 128 elements, at most one per tick of the event loop', async () => {
    await nextTick();
    await nextTick();
    const ticks: (() => void)[] = [];
    setTickScheduler((task) => ticks.push(task));
    try {
      const sizes: number[] = [];
      const list = renderList(range(400), (values) => {
        sizes.push(values.length);
        return render(values);
      });
      const chunks = list.then(readBody);
      const perTick: number[][] = [];
      for (let i = 0; i < 6; i++) {
        await nextTick();
        perTick.push(sizes.splice(0));
        for (const run of ticks.splice(0)) run();
      }
      expect(perTick.flat()).toEqual([128, 128, 128, 16]);
      // The first two are rendered together, after the second has shown that the text is not complete.
      expect(perTick.filter((each) => each.length > 0)).toEqual([[128, 128], [128], [16]]);
      expect(JSON.parse((await chunks).join(''))).toHaveLength(400);
    } finally {
      setTickScheduler(undefined);
      for (let i = 0; i < 3; i++, await nextTick()) for (const run of ticks.splice(0)) run();
    }
  });
});

describe('JSON array of pages', () => {
  /** Pages of a list, and the number of pages that were read. */
  function fixture(pages: readonly (readonly unknown[])[]) {
    const state = { read: 0, ended: false };
    async function* read() {
      try {
        for (const page of pages) {
          state.read++;
          yield page;
        }
      } finally {
        state.ended = true;
      }
    }
    return { state, pages: read() };
  }

  const isStream = (body: unknown): body is AsyncIterable<string> =>
    typeof body === 'object' && body !== null && Symbol.asyncIterator in body;

  test.each([
    [[], '[]'],
    [[[]], '[]'],
    [[[1, 'ß']], '[1,"ß"]'],
  ])('is text for %j', async (pages, text) => {
    expect(await renderPages(fixture(pages).pages)).toBe(text);
  });

  test('is sent page by page, and a page is read when the one before it has been sent', async () => {
    const { state, pages } = fixture([[1, 2], [3], [4, 5], [6]]);
    const body = await renderPages(pages);
    if (!isStream(body)) throw new Error('the body must be a stream');
    expect(state.read).toBe(2); // the second page shows that the text is not complete
    const chunks: string[] = [];
    const reads: number[] = [];
    for await (const chunk of body) {
      chunks.push(chunk);
      reads.push(state.read);
    }
    expect(chunks).toEqual(['[1,2', ',3', ',4,5', ',6', ']']);
    expect(reads).toEqual([2, 2, 3, 4, 4]);
  });

  test('ends the read when the client leaves', async () => {
    const { state, pages } = fixture([[1], [2], [3], [4]]);
    const body = await renderPages(pages);
    if (!isStream(body)) throw new Error('the body must be a stream');
    for await (const _ of body) break;
    expect(state).toEqual({ read: 2, ended: true });
  });
});
