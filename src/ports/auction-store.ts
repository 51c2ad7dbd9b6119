import type { Hex } from '../protocol/hex.ts';

/** The stored part of an auction, used to evaluate its settlements. Its orders are not stored. */
export interface NewAuction {
  /** The newest known block; 0 if none was known. */
  readonly block: number;
  /**
   * A JSON object with the wei of native currency for 10^18 atoms, decimal, by token, and with the fee rules as `fees`.
   * The store keeps the text unchanged.
   */
  readonly prices: string;
}

/** An auction as the store returns it. */
export interface StoredAuction extends NewAuction {
  readonly id: number;
}

/** The solver competition of an auction, as recorded by its operator. */
export interface StoredCompetition {
  readonly auctionId: number;
  /** The last block in which its winners may be settled. */
  readonly deadline: number;
  /** The wire format without `auction.orders`, rendered as a JSON object. The store keeps the text unchanged. */
  readonly body: string;
}

/** A competition with the orders of its auction. */
export interface CompleteCompetition extends StoredCompetition {
  /** The UIDs of the orders, concatenated. `undefined`: an earlier version has stored them in `body`. */
  readonly orders: Hex | undefined;
}

/** The competitions to read: those with the highest auction ids. */
export interface StoredCompetitionQuery {
  readonly limit: number;
  /** Only competitions whose deadline is above this block. */
  readonly deadlineAbove?: number;
  /** Only competitions whose deadline is below this block. */
  readonly deadlineBelow?: number;
}

/** Auctions and their competitions. */
export interface AuctionStore {
  /**
   * Stores an auction. Only the `keep` newest auctions are kept.
   *
   * @param least - The lowest id that it may have.
   * @returns Its id: a positive safe integer, greater than all earlier ids, including those of deleted auctions.
   */
  insert(auction: NewAuction, keep: number, least: number): Promise<number>;

  get(id: number): Promise<StoredAuction | undefined>;

  /**
   * Records a competition and replaces an earlier record of the same auction. Only the `keep` competitions with the
   * highest auction ids are kept.
   */
  record(competition: CompleteCompetition, keep: number): Promise<'recorded' | 'replaced'>;

  competition(auctionId: number): Promise<CompleteCompetition | undefined>;

  /** Returns the highest auction id of a competition, or 0 if there is none. MUST NOT read its body. */
  lastCompetition(): Promise<number>;

  /**
   * Reads competitions, highest auction id first. The duration MUST NOT grow with the number of orders of their
   * auctions. That of a query by deadline MUST NOT grow with the number of other competitions, except of those with a
   * higher id.
   */
  competitions(query: StoredCompetitionQuery): Promise<StoredCompetition[]>;
}
