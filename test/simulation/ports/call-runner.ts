import { StoreError } from 'intentbook';
import type { VirtualProcess } from '../machine/process.ts';
import type { SeededRandom } from '../machine/random.ts';
import type { Scheduler } from '../machine/scheduler.ts';
import type { StoreFault } from '../plan/plan.ts';

/** Executes calls of a store for a virtual process: late, out of order, or not at all. */
export interface CallRunner {
  /** The faults in effect. */
  readonly faults: Set<StoreFault>;
  /**
   * Executes a call in one step of the scheduler.
   *
   * @param lose - Returns or throws the result of the caller if the acknowledgement is lost. Absent: the call does not
   *   write, or its acknowledgement is never lost.
   */
  run<T>(name: string, execute: () => Promise<T>, lose?: () => T): Promise<T>;
}

export interface CallRunnerContext {
  readonly process: VirtualProcess;
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  readonly onFault: (name: string) => void;
}

/** Milliseconds of virtual time for which a call waits for a lock, and between two attempts. */
const LOCK_TIMEOUT = 4_000;
const LOCK_INTERVAL = 400;

/** Returns whether a transaction of the application has delayed a call for longer than the server waits. */
export const isLockTimeout = (failure: unknown): boolean =>
  failure instanceof StoreError && (failure.cause as { readonly code?: string } | undefined)?.code === '55P03';

export function createCallRunner({ process, scheduler, random, onFault }: CallRunnerContext): CallRunner {
  const faults = new Set<StoreFault>();

  function drawDelay(): number {
    if (faults.has('slow') && random.chance(0.6)) return random.integer(100, 6_000);
    if (random.chance(0.5)) return 0;
    return random.chance(0.9) ? random.integer(0, 5) : random.integer(5, 120);
  }

  return {
    faults,
    run: (name, execute, lose) =>
      new Promise((resolve, reject) => {
        // A result without a delay arrives in the step that has created it.
        const finish = (end: () => void) => {
          const delay = drawDelay();
          if (delay === 0) process.enter(end);
          else scheduler.after(delay, () => process.enter(end));
        };
        const settle = (create: () => Parameters<typeof resolve>[0]) =>
          finish(() => {
            try {
              resolve(create());
            } catch (failure) {
              reject(failure);
            }
          });
        const begin = () => {
          if (faults.has('fail') && random.chance(0.5)) {
            onFault(`store fail ${name}`);
            return finish(() => reject(new StoreError('Unavailable', 'the simulated storage failed')));
          }
          if (faults.has('full') && lose !== undefined) {
            onFault(`store full ${name}`);
            return finish(() => reject(new StoreError('Unavailable', 'the simulated disk is full')));
          }
          const isLost = lose !== undefined && faults.has('lose') && random.chance(0.5);
          if (isLost) onFault(`store lose ${name}`);
          const deadline = scheduler.time + LOCK_TIMEOUT;
          const attempt = (): void =>
            void execute().then(
              (value) => settle(isLost ? lose : () => value),
              (failure) => {
                if (!isLockTimeout(failure) || scheduler.time >= deadline) return finish(() => reject(failure));
                onFault(`store locked ${name}`);
                scheduler.after(LOCK_INTERVAL, () => process.isDead || attempt());
              },
            );
          attempt();
        };
        // A call of a process that ends before it is executed has no effect.
        scheduler.after(drawDelay(), () => {
          if (!process.isDead) begin();
        });
      }),
  };
}

/** Throws the failure of a call whose outcome is not known. */
export function loseOutcome(): never {
  throw new StoreError('OutcomeUnknown', 'the simulated connection broke');
}

type Group = Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;

/** Returns the groups of methods of a store: every object but its traits. */
export function listGroups(store: object): (readonly [noun: string, group: Group])[] {
  return Object.entries(store).filter(
    (entry): entry is [string, Group] => typeof entry[1] === 'object' && entry[1] !== null && entry[0] !== 'traits',
  );
}
