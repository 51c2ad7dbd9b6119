import type { AccountStore, LogPruneRequest } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { createAccountPruning } from '../../../src/accounts/account-retention.ts';
import { manualClock } from '../../support/clock.ts';

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const DAY = 86_400_000;

function fixture(notifications: number | undefined) {
  const clock = manualClock(START);
  const requests: LogPruneRequest[] = [];
  const nonces: number[] = [];
  const failures: unknown[] = [];
  const log = { last: 10, old: 0 };
  const store = {
    notifications: {
      last: async () => log.last,
      cursor: async () => null,
      marks: async () => [],
      append: async () => ({ status: 'appended', changed: 0 }),
    },
    retention: {
      async pruneNotifications(request: LogPruneRequest) {
        requests.push(request);
        const removed = Math.min(log.old, request.limit);
        log.old -= removed;
        return removed;
      },
      async pruneNonces(now: number) {
        nonces.push(now - START);
        return 0;
      },
    },
  } as unknown as AccountStore; // the members that are used
  const retention = createAccountPruning({
    store,
    clock,
    notifications,
    onFailure: (failure) => failures.push(failure),
  });
  /** Advances the clock in steps of the worker. */
  const pass = async (minutes: number) => {
    for (let passed = 0; passed < minutes; passed += 10) {
      clock.advance(10 * MINUTE);
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(failures).toEqual([]);
    return requests.splice(0);
  };
  return { retention, log, nonces, pass };
}

describe('account retention', () => {
  test('deletes notifications that are old and were in the log an hour ago, in steps', async () => {
    const { retention, log, pass } = fixture(7 * DAY);
    retention.start();
    expect(await pass(60)).toEqual([]);
    Object.assign(log, { last: 300, old: 130 });
    const requests = await pass(60);
    expect(requests.map(({ through, limit }) => [through, limit])).toEqual([
      [10, 128],
      [10, 128],
    ]);
    expect(requests[0]?.before).toBe(START + 70 * MINUTE - 7 * DAY);
    expect((await pass(60)).map(({ through }) => through)).toEqual([300]);
    await retention.stop();
  });

  test('deletes expired nonces every hour, and keeps notifications without a retention', async () => {
    const { retention, nonces, pass } = fixture(undefined);
    retention.start();
    expect(await pass(180)).toEqual([]);
    expect(nonces).toEqual([10, 70, 130].map((minutes) => minutes * MINUTE));
    await retention.stop();
  });
});
