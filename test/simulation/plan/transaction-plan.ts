import type { SeededRandom } from '../machine/random.ts';
import { repeat } from '../machine/random.ts';
import type { Draft, Operation, PlanContext, TransactionStep } from './plan.ts';

/**
 * Draws transactions of the application. Some stay open for a minute. If there are other processes, they write orders
 * of the same owners meanwhile, and of others.
 */
export function drawTransactions(
  random: SeededRandom,
  { pool: { orders }, processes }: Pick<PlanContext, 'pool' | 'processes'>,
  hot: readonly number[],
): (Draft & { readonly delay: number })[][] {
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
    const process = processes === 1 ? 0 : random.integer(0, processes - 1);
    const transaction = { kind: 'transaction', steps, ending, delays } as const;
    return [
      { type: 'operation', process, operation: transaction, delay: 0 },
      ...(processes === 1 ? [] : repeat(random.integer(1, 4), () => drawWrite(steps))),
    ];
  });

  function drawWrite(steps: readonly TransactionStep[]): Draft & { readonly delay: number } {
    const joined = steps.flatMap((step) => (step.kind === 'submit' ? step.orders : []));
    const signer = orders[joined[0] ?? 0]?.signer;
    const related = valid.filter((each) => each.signer === signer).map(({ index }) => index);
    const [first, process] = [random.pick(random.chance(0.5) ? joined : related), random.integer(0, processes - 1)];
    const operation: Operation = random.chance(0.8)
      ? { kind: 'submit', orders: [first, random.pick(hot)] }
      : { kind: 'cancel', orders: [first], signer: orders[first]?.signer ?? 0 };
    return { type: 'operation', process, operation, delay: random.integer(0, 120) };
  }
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
