import type { Address } from '../../protocol/hex.ts';
import type { Auction } from '../auction-order.ts';

/** A solver that takes part in the competitions of a book. `httpDriver` of `intentbook/drivers` creates one. */
export interface SolverDriver {
  /** Name for observations. Each driver of a book has another one. */
  readonly name: string;

  /** The account that settles. Solutions with another one are dropped. Default: any account. */
  readonly submissionAddress?: Address;

  /**
   * Whether the body of an auction may be the difference to the one that the driver has solved before. Default: false.
   */
  readonly acceptsDeltas?: boolean;

  /**
   * Solves an auction. MUST stop when the signal is aborted, which is the deadline.
   *
   * @returns the body of the response as parsed JSON. It is validated as untrusted input.
   */
  solve(request: SolveRequest, context: DriverContext): Promise<unknown>;

  /** Returns the calldata of a solution: the body of the response as parsed JSON. Absent: calldata is not verified. */
  reveal?(request: RevealRequest, context: DriverContext): Promise<unknown>;

  /**
   * Settles a solution on chain. Resolves when the settlement is in a block, and rejects if it fails. If the property
   * `kind` of the error is `FailedToSubmit`, `SolutionNotAvailable` or `MalformedRequest`, the orders are offered again
   * in the next block. After any other error they are in flight until the deadline.
   */
  settle(request: SettleRequest, context: DriverContext): Promise<void>;

  /** Informs the solver that it is excluded from auctions. Absent: it is not informed. */
  notify?(notification: DriverNotification, context: DriverContext): Promise<void>;
}

/** The exclusion of a solver from auctions. */
export interface DriverNotification {
  /** It has won consecutive auctions and settled none of them. */
  readonly reason: 'unsettledConsecutiveAuctions';
  /** End of the exclusion, in milliseconds since 1970. */
  readonly until: number;
}

/** The context of a call of a driver. */
export interface DriverContext {
  /** Aborted when the result is no longer needed. */
  readonly signal: AbortSignal;
}

/** An auction to solve. */
export interface SolveRequest {
  readonly auction: Auction;
  /** Milliseconds since 1970. */
  readonly deadline: number;
  /** The body of `POST /solve`: JSON in UTF-8. Drivers that need the same body receive the same bytes. */
  readonly body: Uint8Array;
}

/** A solution, as `POST /reveal` names it. */
export interface RevealRequest {
  /** Id of the driver, unique within the auction. */
  readonly solutionId: number;
  readonly auctionId: number;
}

/** A solution to settle. */
export interface SettleRequest extends RevealRequest {
  /** The last block in which the settlement may be included. */
  readonly submissionDeadlineLatestBlock: number;
}
