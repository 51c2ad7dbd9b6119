import type { Address } from '../protocol/hex.ts';

/** The execution of an order by a solver. Null: the solution does not contain the order. */
export interface SolverExecution {
  readonly solver: Address;
  readonly executedAmounts: { readonly sell: string; readonly buy: string } | null;
}

/** The status of an order in the solver competition. */
export type CompetitionStatus =
  | { readonly type: 'open' | 'scheduled' | 'active' | 'cancelled' }
  /** Solutions, worst first. */
  | { readonly type: 'solved' | 'executing' | 'traded'; readonly value: readonly SolverExecution[] };
