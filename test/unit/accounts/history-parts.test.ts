import { OrderBookError } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { toCsvLine } from '../../../src/account-tools/csv-line.ts';
import { ORDER_CSV, TRADE_CSV } from '../../../src/accounts/history/csv.ts';
import { formatHistoryCursor, parseHistoryCursor } from '../../../src/accounts/history/history.ts';
import type { MergeSource } from '../../../src/accounts/history/merge.ts';
import { createMerge } from '../../../src/accounts/history/merge.ts';

describe('line of CSV', () => {
  test.each<[string | number | boolean | null | undefined, string]>([
    ['0x12', '0x12'],
    ['a=b', 'a=b'],
    [5, '5'],
    [-5, '-5'],
    [false, 'false'],
    [null, ''],
    [undefined, ''],
    ['', ''],
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['@x', "'@x"],
    [' =1', "' =1"],
    ['\u200b=1', "'\u200b=1"],
    ['\ufeff+1', "'\ufeff+1"],
    ['＝1', "'＝1"],
    ['﹦1', "'﹦1"],
    ['\u200e﹢1', "'\u200e﹢1"],
    ['\n=1', `"'\n=1"`],
    ['A;=1', `"'A;=1"`],
    ['A;B', '"A;B"'],
    ['\tx', "'\tx"],
    ['-x', "'-x"],
    ['-5', '-5'],
    ['-12.34', '-12.34'],
    ['-12.', "'-12."],
    ['-1.x', "'-1.x"],
    ['-1x', "'-1x"],
    ['-1-', "'-1-"],
    ['1-x,', '"1-x,"'],
    ['a,b', '"a,b"'],
    ['a"b', '"a""b"'],
    ['a\nb', '"a\nb"'],
    ['a\rb', '"a\rb"'],
    ['=a,"b"', '"\'=a,""b"""'],
    ['x=a,b', '"x=a,b"'],
  ])('contains %j as %s', (value, field) => {
    expect(toCsvLine([value, 'x'])).toBe(`${field},x\r\n`);
  });

  test('is the header of each export', () => {
    expect(ORDER_CSV.header).toMatch(/^chainId,env,uid,creationDate,.*,signingScheme,appData\r\n$/);
    expect(TRADE_CSV.header).toMatch(/^chainId,env,timestamp,blockNumber,.*,buyAmount\r\n$/);
  });
});

describe('cursor of trades', () => {
  const key = (chainId: number) => `${chainId}-0x${'ab'.repeat(20)}`;

  test('has a position of each book', () => {
    const positions = new Map([
      [key(1), { blockNumber: 5, logIndex: 0 }],
      [key(100), { blockNumber: 999_999_999_999_999, logIndex: 999_999_999 }],
    ]);
    const text = formatHistoryCursor(positions);
    expect(text).toBe(`${key(1)}~5-0.${key(100)}~999999999999999-999999999`);
    expect(parseHistoryCursor(text)).toEqual(positions);
  });

  test.each([
    '',
    '.',
    `${key(1)}~5-0.`,
    `x${key(1)}~5-0`,
    `${key(1)}~5-0x`,
    `${key(1)}~1234567890123456-0`,
    `${key(1)}~5-1234567890`,
    `1-0x12~5-0`,
    `${key(1)}~-0`,
  ])('rejects %s', (text) => {
    const message = 'cursor: must be the `next` value of a page';
    expect(() => parseHistoryCursor(text)).toThrow(
      new OrderBookError('InvalidParameter', message, { parameter: 'cursor' }),
    );
  });

  test('is limited to 10000 characters', () => {
    const position = `${key(1)}~5-0`;
    const texts = (count: number) => Array.from({ length: count }, () => position).join('.');
    const most = Math.floor(10_001 / (position.length + 1));
    expect(parseHistoryCursor(texts(most)).size).toBe(1);
    expect(() => parseHistoryCursor(texts(most + 1))).toThrow(OrderBookError);
  });
});

describe('merge of lists', () => {
  /** A list of numbers in pages, which records its reads. */
  function listOf(key: string, ...pages: number[][]) {
    const calls: string[] = [];
    const left = [...pages];
    const iterator: AsyncIterator<readonly number[]> = {
      async next() {
        const value = left.shift();
        calls.push(value === undefined ? 'end' : `page ${value.join()}`);
        return value === undefined ? { done: true, value } : { done: false, value };
      },
      async return() {
        calls.push('return');
        return { done: true, value: undefined };
      },
    };
    const source: MergeSource<number> = { key, pages: { [Symbol.asyncIterator]: () => iterator } };
    return { source, calls };
  }
  const newestFirst = (a: number, b: number) => a > b;

  test('takes the newest elements of all lists, and reads a page only when it is needed', async () => {
    const [a, b] = [listOf('a', [9, 6], [3]), listOf('b', [8, 7], [], [1])];
    const merge = createMerge([a.source, b.source], newestFirst);
    expect(await merge.take(2)).toEqual([9, 8]);
    expect([a.calls, b.calls]).toEqual([['page 9,6'], ['page 8,7']]);
    expect(await merge.take(1)).toEqual([7]);
    expect(b.calls).toEqual(['page 8,7']);
    expect(await merge.take(10)).toEqual([6, 3, 1]);
    expect([a.calls.at(-1), b.calls.slice(1)]).toEqual(['end', ['page ', 'page 1', 'end']]);
    expect(await merge.take(1)).toEqual([]);
    expect(a.calls.filter((call) => call === 'end')).toHaveLength(1);
  });

  test('keeps the order of the lists for equal elements', async () => {
    const merge = createMerge([listOf('a', [5]).source, listOf('b', [5]).source], newestFirst);
    await merge.take(1);
    expect(await merge.positions()).toEqual([{ key: 'b', last: undefined, next: 5 }]);
  });

  test('returns the positions of lists with more elements', async () => {
    const merge = createMerge([listOf('a', [9, 6]).source, listOf('b', [8]).source, listOf('c').source], newestFirst);
    expect(await merge.positions()).toEqual([
      { key: 'a', last: undefined, next: 9 },
      { key: 'b', last: undefined, next: 8 },
    ]);
    await merge.take(2);
    expect(await merge.positions()).toEqual([{ key: 'a', last: 9, next: 6 }]);
  });

  test('ends all reads when it is closed', async () => {
    const [a, b] = [listOf('a', [9, 6]), listOf('b', [8])];
    const merge = createMerge([a.source, b.source], newestFirst);
    await merge.take(1);
    await merge.close();
    expect([a.calls.at(-1), b.calls.at(-1)]).toEqual(['return', 'return']);
    expect(await merge.take(1)).toEqual([]);
  });
});
