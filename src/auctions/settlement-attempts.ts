import type { Hex } from '../protocol/hex.ts';
import type { CompetitionSummary } from './competition.ts';
import type { SolutionId } from './in-flight.ts';

/** An attempt of a winner to settle its solution. */
export interface SettlementAttempt extends Omit<SolutionId, 'auctionId'> {
  /** When the auction was sent to the drivers, in milliseconds since 1970. */
  readonly auctionAt: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** The newest block of the chain when it started. */
  readonly startBlock: number;
  readonly deadlineBlock: number;
  /** Absent while it runs. */
  readonly end?: {
    /** Milliseconds since 1970. */
    readonly at: number;
    /** The newest indexed block. */
    readonly block: number;
    /** `success`, `timeout`, or `driver failed: ` and the reason. */
    readonly outcome: string;
  };
}

/** A recorded competition with the attempts of its winners. */
export interface OrderCompetition extends CompetitionSummary {
  /** The attempts that this process has started, oldest first. */
  readonly settlementAttempts: readonly SettlementAttempt[];
}

/** Number of auctions whose attempts are kept: as many as are searched for an order. */
const KEPT_AUCTIONS = 50;

/** Creates the record of the attempts to settle. It is kept by the process that runs the auctions. */
export function createSettlementAttempts() {
  const byAuction = new Map<number, SettlementAttempt[]>();
  return {
    /** Adds an attempt, and returns the function that ends it. */
    start({ auctionId, ...attempt }: SettlementAttempt & SolutionId) {
      const attempts = byAuction.get(auctionId) ?? [];
      const position = attempts.push(attempt) - 1;
      byAuction.set(auctionId, attempts);
      const [oldest = auctionId] = byAuction.keys();
      if (byAuction.size > KEPT_AUCTIONS) byAuction.delete(oldest);
      return (end: Required<SettlementAttempt>['end']): void => {
        attempts[position] = { ...attempt, end };
      };
    },
    /** Adds the attempts of the winners with an order to a competition. */
    addTo(competition: CompetitionSummary, uid: Hex): OrderCompetition {
      const rankings = new Set(
        competition.solutions.flatMap(({ orders, ranking }) => (orders.some(({ id }) => id === uid) ? ranking : [])),
      );
      const attempts = byAuction.get(competition.auctionId) ?? [];
      return { ...competition, settlementAttempts: attempts.filter(({ ranking }) => rankings.has(ranking)) };
    },
  };
}
