import type { ChainClient, Funds } from 'intentbook';
import type { VirtualProcess } from '../machine/process.ts';
import type { SeededRandom } from '../machine/random.ts';
import type { Scheduler } from '../machine/scheduler.ts';
import type { NodeFault } from '../plan/plan.ts';

/** The balances of owners on chain, with all earlier ones. */
export interface Balances {
  set(owner: string, amount: bigint): void;
  get(owner: string): bigint;
  /** Returns the balances of an owner from a virtual time to another, both included. Default: until now. */
  since(owner: string, time: number, until?: number): readonly bigint[];
}

/** @param initial - The balance of every owner, in atoms. */
export function createBalances(scheduler: Pick<Scheduler, 'time'>, initial: bigint): Balances {
  const histories = new Map<string, { readonly time: number; readonly amount: bigint }[]>();
  const find = (owner: string) => histories.get(owner) ?? [{ time: 0, amount: initial }];
  return {
    set(owner, amount) {
      histories.set(owner, [...find(owner), { time: scheduler.time, amount }]);
    },
    get: (owner) => find(owner).at(-1)?.amount ?? initial,
    since: (owner, from, until = Number.POSITIVE_INFINITY) =>
      find(owner)
        .filter(({ time }, i, all) => time <= until && (all[i + 1]?.time ?? Number.POSITIVE_INFINITY) >= from)
        .map(({ amount }) => amount),
  };
}

/** The connection of a virtual process to a node that returns balances. */
export interface FundsPort {
  readonly client: ChainClient;
  readonly faults: Set<NodeFault>;
  /** The virtual time of the last request that failed or was late. */
  readonly lastFault: number;
}

export interface FundsPortContext {
  readonly balances: Balances;
  readonly process: VirtualProcess;
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  readonly onFault: (name: string) => void;
}

/** Allowances are unlimited. */
const ALLOWANCE = 2n ** 256n - 1n;

/** Creates the port. Orders are submitted without a check of their funds, since only many balances can be read. */
export function createFundsPort({ balances, process, scheduler, random, onFault }: FundsPortContext): FundsPort {
  const faults = new Set<NodeFault>();
  let lastFault = Number.NEGATIVE_INFINITY;

  function fail(name: string): void {
    lastFault = scheduler.time;
    onFault(`funds ${name}`);
  }

  return {
    faults,
    get lastFault() {
      return lastFault;
    },
    client: {
      balancesAndAllowances: (queries) =>
        new Promise<readonly Funds[]>((resolve, reject) => {
          if (faults.has('hang') && random.chance(0.5)) return fail('hang');
          const fails = faults.has('fail') && random.chance(0.5);
          if (fails) fail('fail');
          if (faults.has('slow')) fail('slow');
          const delay = faults.has('slow') ? random.integer(50, 4_000) : random.integer(0, 20);
          const funds = queries.map(({ owner }) => ({ balance: balances.get(owner), allowance: ALLOWANCE }));
          scheduler.after(delay, () =>
            process.enter(() => (fails ? reject(new Error('the simulated node failed')) : resolve(funds))),
          );
        }),
    },
  };
}
