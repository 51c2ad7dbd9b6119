import type { Estimate, Estimator } from 'intentbook';
import type { VirtualProcess } from '../machine/process.ts';
import type { SeededRandom } from '../machine/random.ts';
import type { Scheduler } from '../machine/scheduler.ts';
import type { NodeFault } from '../plan/plan.ts';

/** Wei per unit of gas. The sell token of all orders is the wrapped native currency, so this is its price too. */
export const GAS_PRICE = '0.00005';

/** The parts of an estimate that are checked. */
export interface MarketEstimate {
  readonly amount: bigint;
  readonly gas: number;
}

/** Atoms of the fixed side. */
export interface MarketTrade {
  readonly amount: bigint;
}

/** The names of the estimators of each process. */
const SOURCES = ['market x', 'market y'] as const;

/** Milliseconds of virtual time in which prices stay equal. */
const PERIOD = 5_000;

/** Returns the estimate of a source at a virtual time. The second source often has a better amount, and more gas. */
function estimate(source: number, { amount }: MarketTrade, time: number): MarketEstimate {
  const period = Math.floor(time / PERIOD);
  const level = 3n + BigInt((period * 7) % 5);
  const bonus = source === 0 ? 0n : BigInt(period % 4) * amount;
  return { amount: amount * level + bonus, gas: source === 0 ? 20_000 : 60_000 };
}

/** Returns the estimates of all sources between two virtual times. */
export function listEstimates(trade: MarketTrade, from: number, to: number): readonly MarketEstimate[] {
  const found: MarketEstimate[] = [];
  for (let period = Math.floor(Math.max(0, from) / PERIOD); period * PERIOD <= to; period++) {
    for (const source of SOURCES.keys()) found.push(estimate(source, trade, period * PERIOD));
  }
  return found;
}

/** The estimators of a virtual process. */
export interface MarketPort {
  readonly estimators: readonly Estimator[];
  readonly faults: Set<NodeFault>;
  /** The virtual time of the last estimate that failed or was late. */
  readonly lastFault: number;
}

export interface MarketPortContext {
  readonly process: VirtualProcess;
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  readonly onFault: (name: string) => void;
}

/** Creates the estimators, which delay and fail like nodes. */
export function createMarketPort({ process, scheduler, random, onFault }: MarketPortContext): MarketPort {
  const faults = new Set<NodeFault>();
  let lastFault = Number.NEGATIVE_INFINITY;

  function fail(name: string): void {
    lastFault = scheduler.time;
    onFault(`market ${name}`);
  }

  const estimators = SOURCES.map(
    (name, source): Estimator => ({
      name,
      estimate: (trade) =>
        new Promise<Estimate | undefined>((resolve, reject) => {
          if (faults.has('hang') && random.chance(0.5)) return fail('hang');
          const fails = faults.has('fail') && random.chance(0.5);
          if (fails) fail('fail');
          if (faults.has('slow')) fail('slow');
          const delay = faults.has('slow') ? random.integer(50, 4_000) : random.integer(0, 30);
          const result = { ...estimate(source, trade, scheduler.time), metadata: { source: name } };
          scheduler.after(delay, () =>
            process.enter(() => (fails ? reject(new Error('the simulated estimator failed')) : resolve(result))),
          );
        }),
    }),
  );
  return {
    estimators,
    faults,
    get lastFault() {
      return lastFault;
    },
  };
}
