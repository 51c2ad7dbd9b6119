import type { SeededRandom } from '../machine/random.ts';
import { repeat } from '../machine/random.ts';
import type { Pool } from '../orders/pool.ts';
import type { Draft, PlanContext } from './plan.ts';

/** Draws requests of owners for webhooks, of which some are repeated, and faults of their targets. */
export function drawSubscriptions(random: SeededRandom, { pool, processes }: PlanContext): Draft[] {
  const owners = pool.owners.length - 1;
  const request = (kind: 'subscribe' | 'unsubscribe', proof: number): Draft => ({
    type: 'operation',
    process: random.integer(0, processes - 1),
    operation: { kind, owner: random.integer(0, owners), proof },
  });
  const list = (): Draft => ({
    type: 'operation',
    process: random.integer(0, processes - 1),
    operation: { kind: 'subscriptions', owner: random.integer(0, owners) },
  });
  const fault = (): Draft => ({
    type: 'fault',
    fault: {
      kind: 'target',
      owner: random.integer(0, owners),
      isFurther: true,
      mode: random.pick(['fail', 'hang', 'slow', 'gone', 'gone']),
      duration: random.integer(2_000, 40_000),
    },
  });
  return [
    ...repeat(random.integer(4, 12), () => request('subscribe', random.integer(0, 8))),
    ...repeat(random.integer(2, 6), () => request('unsubscribe', random.integer(5, 12))),
    ...repeat(random.integer(0, 4), list),
    ...repeat(random.integer(0, 4), fault),
  ];
}

/** Makes dead deliveries pending again. */
export function drawReplay(random: SeededRandom, { processes }: PlanContext): Draft {
  return { type: 'operation', process: random.integer(0, processes - 1), operation: { kind: 'replay' } };
}

/** Owners lose all funds, and get them back. */
export function drawShortfalls(random: SeededRandom, { owners }: Pool): Draft[] {
  return repeat(random.integer(2, 8), () => ({
    type: 'fund',
    owner: random.integer(0, owners.length - 1),
    amount: random.pick([0, 0, 1_000_000]),
  }));
}
