import { OrderBookError } from 'intentbook';
import { describe, expect, test } from 'vitest';
import type { RaceResponse } from '../../../src/quotes/estimator-race.ts';
import { startRace } from '../../../src/quotes/estimator-race.ts';
import { manualClock } from '../../support/clock.ts';

/** A race of two runners, which respond as the test decides. */
function fixture(names: readonly string[] = ['a', 'b']) {
  const clock = manualClock();
  const observed: unknown[] = [];
  const signals: AbortSignal[] = [];
  const respond = new Map<string, (response: RaceResponse<number>) => void>();
  const fail = new Map<string, (failure: unknown) => void>();
  let ends = 0;
  const race = startRace<number>({
    clock,
    timeout: 1000,
    onEnd: () => void ends++,
    observe: (...given) => void observed.push(given),
    runners: names.map((name) => ({
      name,
      run: ({ signal }) =>
        new Promise((resolve, reject) => {
          signals.push(signal);
          respond.set(name, resolve);
          fail.set(name, reject);
        }),
    })),
  });
  const value = (name: string, number: number) => respond.get(name)?.({ outcome: 'responded', value: number });
  return { clock, observed, signals, race, respond, fail, value, ends: () => ends };
}

const settle = async () => {
  for (let i = 0; i < 10; i++) await Promise.resolve();
};

describe('estimator race', () => {
  test('observes each response with its duration', async () => {
    const { clock, race, observed, value, fail, ends } = fixture();
    const { responses } = race.subscribe(1000);
    clock.advance(30);
    value('a', 7);
    await settle();
    expect([race.state, responses, ends()]).toEqual(['running', [7], 0]);
    clock.advance(12);
    fail.get('b')?.(new Error('offline'));
    await settle();
    expect(observed).toEqual([
      ['a', 'responded', 30, undefined],
      ['b', 'failed', 42, new Error('offline')],
    ]);
    expect([race.state, responses, ends(), clock.pending]).toEqual(['complete', [7], 1, 0]);
  });

  test('observes no negative duration after the clock was set back', async () => {
    const { clock, observed, value } = fixture(['a']);
    clock.jump(-50);
    value('a', 7);
    await settle();
    expect(observed).toEqual([['a', 'responded', 0, undefined]]);
  });

  test('has rejections apart from responses', async () => {
    const { race, respond } = fixture();
    const subscription = race.subscribe(1000);
    const error = new OrderBookError('NoLiquidity');
    respond.get('a')?.({ outcome: 'rejected', error });
    respond.get('b')?.({ outcome: 'none' });
    await settle();
    expect([subscription.responses, subscription.rejections, subscription.over]).toEqual([[], [error], true]);
  });

  test('without runners is complete', () => {
    const { race, ends } = fixture([]);
    const subscription = race.subscribe(1000);
    expect([race.state, subscription.over, subscription.closed, ends()]).toEqual(['complete', true, false, 0]);
  });

  test('ends with its last subscriber: late after the timeout, otherwise abandoned', async () => {
    const late = fixture();
    late.race.subscribe(999);
    late.race.subscribe(1000);
    late.clock.advance(999);
    expect(late.race.state).toBe('running');
    late.clock.advance(1);
    expect([late.race.state, late.ends(), late.signals.map(({ aborted }) => aborted)]).toEqual([
      'late',
      1,
      [true, true],
    ]);
    expect(late.observed).toEqual([
      ['a', 'late', 1000],
      ['b', 'late', 1000],
    ]);

    const left = fixture();
    const [first, second] = [left.race.subscribe(1000), left.race.subscribe(1000)];
    first.unsubscribe();
    first.unsubscribe();
    expect(left.race.state).toBe('running');
    left.value('a', 1);
    await settle();
    second.unsubscribe();
    expect(left.race.state).toBe('abandoned');
    expect(left.observed).toEqual([
      ['a', 'responded', 0, undefined],
      ['b', 'abandoned', 0],
    ]);
    expect(left.clock.pending).toBe(0);
  });

  test('ignores responses after its end', async () => {
    const { race, value, observed, clock } = fixture();
    const subscription = race.subscribe(5);
    clock.advance(5);
    value('a', 7);
    await settle();
    expect([subscription.responses, observed.length, race.state]).toEqual([[], 2, 'late']);
  });

  test('keeps the responses that a subscriber had at its end', async () => {
    const { race, value, clock } = fixture();
    const early = race.subscribe(10);
    const patient = race.subscribe(1000);
    value('a', 1);
    await settle();
    clock.advance(10);
    expect([early.over, patient.over]).toEqual([true, false]);
    value('b', 2);
    await settle();
    expect([early.responses, patient.responses, patient.over]).toEqual([[1], [1, 2], true]);
  });

  test('wakes subscribers on a response and at the end, and calls them back when it is over', async () => {
    const { race, value, respond } = fixture();
    const over: unknown[] = [];
    const subscription = race.subscribe(1000, (given) => over.push(given));
    let wakes = 0;
    const wait = () => void subscription.changed().then(() => wakes++);
    wait();
    wait();
    respond.get('b')?.({ outcome: 'none' });
    await settle();
    expect(wakes).toBe(0); // nothing to read
    value('a', 1);
    await settle();
    expect([wakes, over]).toEqual([2, [subscription]]);
    await subscription.changed(); // returns at once
  });

  test('is closed with its subscriptions', async () => {
    const { race, clock, observed } = fixture();
    const subscription = race.subscribe(1000);
    race.close();
    expect([race.state, subscription.closed, subscription.over, clock.pending]).toEqual(['closed', true, true, 0]);
    expect(observed).toEqual([
      ['a', 'abandoned', 0],
      ['b', 'abandoned', 0],
    ]);
    race.close();
    expect(observed).toHaveLength(2);
  });

  test('is not awaited by a caller that has left, whose listener is removed', async () => {
    const { race, value } = fixture();
    const subscription = race.subscribe(1000);
    const controller = new AbortController();
    const waiting = subscription.changed(controller.signal);
    controller.abort(new Error('left'));
    await expect(waiting).rejects.toThrow('left');
    await expect(subscription.changed(controller.signal)).rejects.toThrow('left');
    const listeners: string[] = [];
    const signal = {
      throwIfAborted: () => {},
      addEventListener: (name: string) => listeners.push(`+${name}`),
      removeEventListener: (name: string) => listeners.push(`-${name}`),
    } as unknown as AbortSignal; // the members that are used
    const woken = subscription.changed(signal);
    value('a', 1);
    await woken;
    expect(listeners).toEqual(['+abort', '-abort']);
  });
});
