import * as z from 'zod/mini';
import { AccountError } from '../../account-tools/account-error.ts';
import type { AccountTools } from '../../account-tools/account-tools.ts';
import { createDeadlineLimiter, DeadlineError, type DeadlineLimiter, QueueFullError } from '../../concurrency/abort.ts';
import { OrderBookError } from '../../errors.ts';
import type {
  BundleCall,
  BundleCallResult,
  BundleSimulator,
  SimulatedLog,
  StateChange,
} from '../../ports/bundle-simulation.ts';
import { formatValue } from '../../protocol/format-value.ts';
import { hex, hexSchema, parseShape } from '../../protocol/shape.ts';
import { requireChainId } from '../../validation/parameters.ts';
import { type BalanceDifferences, createBalanceTotals, mergeStateChanges } from './state-diff.ts';

/** The result of a transaction of a bundle, in the form of production, with its logs. */
export interface SimulatedTransaction {
  /** Whether the transaction succeeded. */
  readonly status: boolean;
  readonly id: string;
  /** Page of the simulation. Empty if there is none. */
  readonly link: string;
  /** Units of gas, decimal. Absent if the simulator does not return it. */
  readonly gasUsed?: string;
  readonly logs: readonly SimulatedLog[];
  /** Signed atoms by account and token, of this transaction and all before it, without the cost of gas. */
  readonly cumulativeBalancesDiff: BalanceDifferences;
  /** Changes of the state by this transaction and all before it. Empty if the simulator does not return them. */
  readonly stateDiff: readonly StateChange[];
}

/** Simulation methods. */
export interface SimulationApi {
  /**
   * Simulates a bundle of 1 to 20 transactions in order. Rejects with `InvalidParameter` for an invalid chain id or
   * bundle; with an `AccountError` of status 400 if the bundle cannot be executed or changes more than 1000 slots of
   * the state; with one of status 503 for a chain without a simulator, if the simulator fails or takes longer than
   * 10 seconds, or if too many bundles wait.
   *
   * @param bundle - A list of `{from, to, input, value?, gas?, gas_price?}`. `gas_price` is ignored.
   */
  simulate(chainId: number, bundle: unknown): Promise<SimulatedTransaction[]>;
}

/** Maximum number of transactions of a bundle. */
export const MAX_CALLS = 20;

/** Largest gas limit of a transaction. */
const MAX_GAS = 30_000_000;

/**
 * Maximum number of changed slots of a bundle. Each result repeats the changes of the earlier ones, and to merge them
 * takes quadratic time.
 */
const MAX_SLOTS = 1_000;

/** Time limit of a simulation, in milliseconds. */
const TIMEOUT = 10_000;

/** Maximum number of bundles of a chain that wait, besides the four that are simulated. */
const MAX_WAITING = 16;

/** Longest wait, in milliseconds. */
const MAX_WAIT = 5_000;

/** Parses an amount: decimal text, hex text, or a safe integer. */
const amountSchema = /* @__PURE__ */ (() => {
  const error = { error: 'must be an amount of wei: decimal digits, or 0x and hex digits, below 2^256' };
  const text = z.string().check(z.regex(/^(?:[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/, error));
  const toAmount = z.transform((value: string | number) => BigInt(value));
  const number = z.int().check(z.minimum(0, error));
  return z.pipe(z.union([text, number], error), toAmount).check(z.refine((value) => value < 2n ** 256n, error));
})();

export const simulationBundle = /* @__PURE__ */ (() => {
  const gas = {
    error: ({ input }: { readonly input?: unknown }) =>
      `must be a whole number from 1 to ${MAX_GAS}, got ${formatValue(input)}`,
  };
  const call = z.strictObject(
    {
      from: hexSchema(20),
      to: hexSchema(20),
      input: hex(),
      value: z.optional(amountSchema),
      gas: z.optional(z.int(gas).check(z.minimum(1, gas), z.maximum(MAX_GAS, gas))),
      gas_price: z.optional(z.union([z.string(), z.number()], { error: 'must be text or a number' })),
    },
    { error: (issue) => (issue.code === 'unrecognized_keys' ? `has the unknown key "${issue.keys?.[0]}"` : undefined) },
  );
  const size = { error: `must have 1 to ${MAX_CALLS} transactions` };
  return z.array(call).check(z.minLength(1, size), z.maxLength(MAX_CALLS, size));
})();

/** Creates the simulation methods. @throws TypeError if the simulators are invalid. */
export function createSimulation(
  tools: Pick<AccountTools, 'clock' | 'random' | 'onFailure' | 'observer' | 'assertStarted'>,
  simulators: Readonly<Record<number, BundleSimulator>>,
): SimulationApi {
  const { clock, random, onFailure, observer, assertStarted } = tools;
  if (Object.values(simulators).some((simulator) => typeof simulator?.simulate !== 'function')) {
    throw new TypeError('createAccounts: simulators must be simulators by chain id');
  }
  const limiter = createDeadlineLimiter(clock, TIMEOUT);

  return {
    async simulate(chainId, bundle) {
      const simulator = simulators[requireChainId(chainId)];
      const calls = parseBundle(bundle);
      if (simulator === undefined) throw new AccountError(503, 'Simulations are not available on this chain');
      assertStarted();
      const outcome = await observer
        .measure('simulation', simulator.name, () => run(limiter, simulator, chainId, calls))
        .catch((failure: unknown) => {
          throw toAccountError(failure, onFailure);
        });
      switch (outcome.status) {
        case 'rejected':
          throw new AccountError(400, 'Build simulation error');
        case 'unsupported':
          throw new AccountError(503, 'Simulations are not available on this chain');
        case 'simulated':
          break;
      }
      if (countSlots(outcome.results) > MAX_SLOTS) {
        throw new AccountError(400, `The bundle must change at most ${MAX_SLOTS} slots of the state`);
      }
      const totals = createBalanceTotals();
      let stateDiff: readonly StateChange[] = [];
      return outcome.results.map(({ success, gasUsed, logs, transfers, stateChanges, id, link = '' }) => {
        totals.add(transfers);
        stateDiff = mergeStateChanges(stateDiff, stateChanges);
        return {
          status: success,
          id: id ?? random.uuid(),
          link,
          ...(gasUsed !== undefined && { gasUsed: String(gasUsed) }),
          logs,
          cumulativeBalancesDiff: totals.differences(),
          stateDiff,
        };
      });
    },
  };
}

/** Returns the number of changed slots. A slot that two transactions change counts twice. */
function countSlots(results: readonly BundleCallResult[]): number {
  return results.flatMap(({ stateChanges }) => stateChanges).reduce((sum, { raw }) => sum + raw.length, 0);
}

function parseBundle(bundle: unknown): BundleCall[] {
  const parsed = parseShape(simulationBundle, bundle, 'InvalidParameter');
  if (parsed instanceof OrderBookError) throw parsed;
  return parsed.map(({ from, to, input, value = 0n, gas }) => ({
    from,
    to,
    input,
    value,
    ...(gas !== undefined && { gas }),
  }));
}

function run(limiter: DeadlineLimiter, simulator: BundleSimulator, chainId: number, calls: readonly BundleCall[]) {
  const limits = { maxWaiting: MAX_WAITING, maxWait: MAX_WAIT };
  return limiter.run(String(chainId), (signal) => simulator.simulate(calls, { signal }), limits);
}

/** Converts a failure of a simulation, and reports it unless the simulator was not called. */
function toAccountError(failure: unknown, onFailure: (failure: unknown) => void): AccountError {
  if (failure instanceof QueueFullError) return new AccountError(503, 'Too many simulations wait', 1);
  onFailure(failure);
  return new AccountError(503, `The simulation ${failure instanceof DeadlineError ? 'timed out' : 'failed'}`, 1);
}
