import type { Hex } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { measureTime } from '../../../bench/benchmark.ts';
import { checkOrders, checkOwner, checkRows, createBodyCheck, expectCount } from '../../../bench/checks.ts';
import { addResult, type Report, toResult, withMeasures } from '../../../bench/report.ts';

const OWNER = `0x${'ab'.repeat(20)}` as const;
const createUid = (digit: string): Hex => `0x${digit.repeat(64)}${OWNER.slice(2)}ffffffff`;
const [first, second, third] = [createUid('1'), createUid('2'), createUid('3')];
const toBody = (value: unknown) => Buffer.from(JSON.stringify(value));
const toOrders = (...uids: Hex[]) => uids.map((uid) => ({ uid }));

test('results of a machine that other programs use are marked', () => {
  const benchmark = { title: 'title', subjects: {}, measures: [] };
  const run = { rounds: [], notes: {} };
  const report = [undefined, 83].reduce<Report>(
    (known, busy, i) => addResult(known, `benchmark ${i}`, toResult(benchmark, run, 'machine', busy)),
    {},
  );
  const page = withMeasures('<!-- bench:begin -->\n<!-- bench:end -->', report);
  expect(page).toMatch(/: machine\. Other programs used processor time during benchmark 1 \(83 %\)\.\n/);
});

describe('checks of benchmarks', () => {
  test.each([
    ['an empty list', []],
    ['an order less', toOrders(first)],
    ['another order', toOrders(first, third)],
    ['an order twice', toOrders(first, first)],
  ])('the first response is rejected if it contains %s', (_, orders) => {
    expect(() => createBodyCheck()(toBody(orders), [first, second])).toThrow('the 2 requested orders');
  });

  test.each([
    ['one order', { uid: first }, [first]],
    ['a list', toOrders(second, first), [first, second]],
    ['a list of by_uids', [{ order: { uid: first } }], [first]],
    ['an empty list', [], []],
  ])('the first response is accepted if it is %s', (_, value, uids) => {
    expect(() => createBodyCheck()(toBody(value), uids)).not.toThrow();
  });

  test('later responses must have the length of the first and contain the first UID', () => {
    const check = createBodyCheck();
    check(toBody(toOrders(first, second)), [first, second]);
    check(toBody(toOrders(second, third)), [second, third]);
    expect(() => check(toBody([]), [first, second])).toThrow('the response must have');
    expect(() => check(toBody(toOrders(second, third)), [first, second])).toThrow('must contain 0x1111');
  });

  test('rows, orders and counts must be complete', () => {
    checkRows([[first], [second]], [first, second]);
    expect(() => checkRows([], [first])).toThrow('must return 1 rows, got 0');
    expect(() => checkRows([[second]], [first])).toThrow('another order');
    checkOrders(toOrders(first), [first]);
    expect(() => checkOrders([], [first])).toThrow('got 0 orders');
    checkOwner(toOrders(first), OWNER);
    expect(() => checkOwner(toOrders(first), `0x${'cd'.repeat(20)}`)).toThrow('must belong to 0xcdcd');
    expect(() => expectCount(2)(1)).toThrow('must result in 2, got 1');
  });

  test('each repetition of a measurement is checked with its own input', async () => {
    const checked: [number, number][] = [];
    let next = 0;
    await measureTime(1, async (input: number) => input * 10, {
      repetitions: 3,
      prepare: () => next++,
      check: (outcome, input) => void checked.push([outcome, input]),
    });
    expect(checked).toEqual([
      [0, 0],
      [10, 1],
      [20, 2],
    ]);
    await expect(measureTime(1, () => 1, { check: expectCount(2) })).rejects.toThrow('must result in 2, got 1');
  });
});
