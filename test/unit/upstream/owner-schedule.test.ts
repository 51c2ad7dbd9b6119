import type { Hex } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { NEW_OWNER } from '../../../src/upstream/import.ts';
import { createOwnerSchedule } from '../../../src/upstream/owner-schedule.ts';
import { createTasks, put } from '../../../src/upstream/tasks.ts';
import { manualClock } from '../../support/clock.ts';
import { SEPOLIA_DOMAIN } from '../../support/orders.ts';

const address = (n: number): Hex => `0x${n.toString(16).padStart(40, '0')}`;

/** Creates a schedule of imported owners, whose next reads are in an hour. */
async function follow(count: number, readRate?: number) {
  const clock = manualClock();
  const store = memoryStore();
  await store.open({ domain: SEPOLIA_DOMAIN, clock });
  const tasks = createTasks(store);
  const owners = Array.from({ length: count }, (_, i) => address(i + 1));
  const value = { ...NEW_OWNER, phase: 'current' } as const;
  await tasks.write(owners.map((owner) => put('owner', owner, clock.now() + 3_600_000, value, 0)));
  const upstream = (readRate === undefined ? {} : { readRate }) as never; // nothing else is read
  const schedule = createOwnerSchedule({ upstream, tasks, clock });
  const waits = async () =>
    (await tasks.due('owner', Number.MAX_SAFE_INTEGER, count)).map(({ due }) => (due - clock.now()) / 1000);
  const wait = async (newest?: number) => ((await schedule.next(newest)) - clock.now()) / 1000;
  return { clock, schedule, owners, waits, wait };
}

describe('the schedule of owners', () => {
  test.each([
    [1, undefined, 5],
    [10, undefined, 20],
    [1000, undefined, 2000],
    [1000, 15, 200],
  ])('reads %i owners with %s reads a second every %i s', async (count, rate, seconds) => {
    const { wait } = await follow(count, rate);
    expect(await wait()).toBe(seconds);
  });

  test('reads owners with an order of the last hour more often, evenly spaced', async () => {
    const { wait, clock } = await follow(10);
    const recent = clock.now() - 60_000;
    const waits: number[] = [];
    for (let i = 0; i < 5; i++) waits.push(await wait(recent));
    expect(waits).toEqual([5, 9, 13, 17, 20]);
    expect(await wait(clock.now() - 3_600_000)).toBe(20);
  });

  test('reads owners that chain events concern, evenly spaced', async () => {
    const { schedule, owners, waits } = await follow(10);
    await schedule.concern([...owners.slice(0, 3), address(99)]);
    expect((await waits()).slice(0, 4)).toEqual([0, 4, 8, 3600]);
  });

  test('reads the first owners at once at a start', async () => {
    const { schedule, waits } = await follow(70);
    await schedule.begin();
    expect((await waits()).filter((seconds) => seconds === 0)).toHaveLength(64);
  });
});
