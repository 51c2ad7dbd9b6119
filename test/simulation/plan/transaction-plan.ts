import type { SeededRandom } from '../machine/random.ts';
import { repeat } from '../machine/random.ts';
import type { Pool } from '../orders/pool.ts';
import type { Draft, TransactionStep } from './plan.ts';

/** Draws transactions of the application. Some stay open for a minute. */
export function drawTransactions(random: SeededRandom, { orders }: Pool, hot: readonly number[]): Draft[] {
  const valid = orders.filter(({ rejection, placedBy }) => rejection === undefined && placedBy === undefined);
  // Most of the other orders are not stored yet.
  const rare = valid.filter(({ index }) => !hot.includes(index)).map(({ index }) => index);
  const candidates = rare.length === 0 ? valid.map(({ index }) => index) : rare;
  return repeat(random.integer(3, 9), () => {
    const steps = drawSteps(random, () => random.pick(random.chance(0.7) ? candidates : hot));
    const pause = () => (random.chance(0.6) ? random.integer(0, 60) : random.integer(100, 3_000));
    const delays = repeat(steps.length + 1, pause);
    if (random.chance(0.15)) delays[random.integer(0, steps.length)] = 60_000;
    const ending = random.pick(['COMMIT', 'COMMIT', 'COMMIT', 'ROLLBACK', 'ROLLBACK', 'kill'] as const);
    return { type: 'operation', process: 0, operation: { kind: 'transaction', steps, ending, delays } };
  });
}

function drawSteps(random: SeededRandom, order: () => number): TransactionStep[] {
  const submit = (): TransactionStep => ({ kind: 'submit', orders: repeat(random.chance(0.8) ? 1 : 3, order) });
  const steps = [submit()];
  while (random.chance(0.6)) {
    if (random.chance(0.5)) steps.push(submit());
    else {
      const end: TransactionStep = { kind: random.chance(0.6) ? 'rollBackTo' : 'release' };
      steps.push({ kind: 'savepoint' }, ...repeat(random.integer(1, 2), submit), end);
    }
  }
  return steps;
}
