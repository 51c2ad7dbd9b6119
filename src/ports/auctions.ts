/** An auction, as far as it is remembered: what its settlements are judged by. The orders in it are not kept. */
export interface NewAuction {
  /** The newest block that was known; 0 when none was. */
  readonly block: number;
  /** Wei of native currency for 10^18 atoms, decimal, by token: a JSON object. The store keeps the text as it is. */
  readonly prices: string;
}

/** An auction as it is remembered. */
export interface StoredAuction extends NewAuction {
  readonly id: number;
}

/** How the solvers did in an auction, as whoever held it has told. */
export interface StoredCompetition {
  readonly auctionId: number;
  /** The wire's form, rendered as a JSON object. The store keeps the text as it is. */
  readonly body: string;
}

/** Auctions and what became of them. */
export interface AuctionStore {
  /**
   * Stores an auction. Of all, the `keep` newest stay.
   *
   * @returns its id: a positive integer that a double holds, greater than any before, whatever has become of those.
   */
  insert(auction: NewAuction, keep: number): Promise<number>;

  get(id: number): Promise<StoredAuction | undefined>;

  /**
   * Records a competition, in the place of an earlier record of the same auction. Of all, the `keep` of the highest
   * auctions stay.
   */
  record(competition: StoredCompetition, keep: number): Promise<'recorded' | 'replaced'>;

  competition(auctionId: number): Promise<StoredCompetition | undefined>;

  /** Reads the competitions of the highest auctions, highest first. */
  competitions(limit: number): Promise<StoredCompetition[]>;
}
