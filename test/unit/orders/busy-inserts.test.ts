import type { InsertOutcome, OrderInsert } from 'intentbook';
import { StoreError } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { BUSY_DELAY_MS, MAX_BUSY_MS, waitForOwners } from '../../../src/orders/insert-retries.ts';
import { readMonotonic } from '../../../src/ports/clock.ts';
import { manualClock } from '../../support/clock.ts';

const INSERTS = ['a', 'b', 'c'].map((uid) => ({ order: { uid } }) as unknown as OrderInsert); // only passed on
const BUSY: InsertOutcome = { status: 'busy' };
const INSERTED: InsertOutcome = { status: 'inserted' };

function fixture(outcomes: readonly InsertOutcome[], age = 0) {
  const clock = manualClock();
  const settled: InsertOutcome[][] = [];
  const failed: unknown[] = [];
  const member = {
    inserts: INSERTS.slice(0, outcomes.length),
    settle: (given: InsertOutcome[]) => void settled.push(given),
    fail: (failure: unknown) => void failed.push(failure),
    since: readMonotonic(clock) - age,
  };
  return { clock, settled, failed, member, wait: () => waitForOwners(member, [...outcomes], clock) };
}

/** The member that inserts the busy orders again, after the delay. */
async function retryOf({ clock, wait }: ReturnType<typeof fixture>) {
  const waiting = wait();
  clock.advance(BUSY_DELAY_MS);
  const retry = await waiting;
  if (retry === undefined) throw new Error('the time has run out');
  return retry;
}

describe('busy orders', () => {
  test('are inserted again after a delay, and the outcomes keep their order', async () => {
    const busy = fixture([BUSY, INSERTED, BUSY]);
    let isOver = false;
    const waiting = busy.wait().finally(() => {
      isOver = true;
    });
    busy.clock.advance(BUSY_DELAY_MS - 1);
    for (let i = 0; i < 5; i++) await Promise.resolve();
    expect(isOver).toBe(false);
    busy.clock.advance(1);
    const retry = await waiting;
    expect([retry?.inserts, retry?.since]).toEqual([[INSERTS[0], INSERTS[2]], busy.member.since]);
    retry?.settle([{ status: 'inserted' }, { status: 'unknown' }]);
    expect(busy.settled).toEqual([[{ status: 'inserted' }, INSERTED, { status: 'unknown' }]]);
  });

  test('have an unknown outcome if the retry returns none', async () => {
    const busy = fixture([BUSY, BUSY]);
    const retry = await retryOf(busy);
    retry.settle([INSERTED]);
    expect(busy.settled).toEqual([[INSERTED, { status: 'unknown' }]]);
  });

  test('are inserted again until five seconds after the first insert', async () => {
    const last = fixture([BUSY], MAX_BUSY_MS - 1);
    expect((await retryOf(last)).inserts).toEqual([INSERTS[0]]);
    const late = fixture([BUSY], MAX_BUSY_MS);
    expect(await late.wait()).toBeUndefined();
    const failure = new StoreError('Unavailable', 'another write of orders of the same owner does not end');
    expect([late.settled, late.failed]).toEqual([[], [failure]]);
  });

  test('stay busy after five seconds if other orders of the caller are stored', async () => {
    const late = fixture([INSERTED, BUSY], MAX_BUSY_MS);
    expect(await late.wait()).toBeUndefined();
    expect([late.settled, late.failed]).toEqual([[[INSERTED, BUSY]], []]);
  });

  test('fail with their retry only if no other order of the caller is stored', async () => {
    const cause = new Error('offline');
    const alone = fixture([BUSY, BUSY]);
    (await retryOf(alone)).fail(cause);
    expect([alone.settled, alone.failed]).toEqual([[], [cause]]);
    const mixed = fixture([BUSY, INSERTED]);
    (await retryOf(mixed)).fail(cause);
    expect([mixed.settled, mixed.failed]).toEqual([[[BUSY, INSERTED]], []]);
  });
});
