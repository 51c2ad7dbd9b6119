import type { AccountStore, AuctionRound, AuctionRun, Hex, OrderBook, Store } from 'intentbook';
import type { Accounts } from 'intentbook/accounts';
import type { NodeMode } from './contract.ts';
import type { ForeignSolver, Offer } from './drivers.ts';

/** A request of a settlement, until it can no longer be executed. */
export interface Request {
  readonly auctionId: number;
  readonly offer: Offer;
  readonly solver: ForeignSolver;
  readonly deadline: number;
  /** Number of transactions that were sent before. */
  readonly transactions: number;
  /** Whether its driver has reported that no transaction is pending. */
  isFailed: boolean;
}

/** A book with the settlements that it has requested since its store was created. */
export interface BookState {
  readonly name: string;
  store: Store;
  /** The file of the store. `undefined`: it is in memory. */
  path: string | undefined;
  book: OrderBook;
  /** Number of stores. The settlements of an earlier one are those of another book. */
  generation: number;
  requests: Request[];
  rounds: AuctionRound[];
  /** How the faulty node returns logs. */
  mode: NodeMode;
  /** The position of the faulty node. */
  readonly faulty: number;
  /** Whether the other node does so too: nodes of one release have the same faults. */
  isShared: boolean;
  /** The blocks whose logs each node has returned for a range. */
  readonly readBlocks: readonly [Set<number>, Set<number>];
  /** A second process on the store, which runs auctions while the first one does not. */
  twin: OrderBook | undefined;
  auctionRun: AuctionRun | undefined;
  /** The blocks of auctions. */
  readonly blocks: Map<number, number>;
  accounts: Accounts;
  accountStore: AccountStore;
  backup: Backup | undefined;
}

/** A backup of the store of a book, and what had happened until then. */
export interface Backup {
  readonly path: string;
  readonly requests: readonly Request[];
  readonly rounds: readonly AuctionRound[];
  readonly orders: ReadonlySet<Hex>;
}

/** Returns whether a settlement was requested by the current store of a book. */
export const isOf = ({ name, generation }: BookState, book: string) => book === `${name} ${generation}`;

/** Returns whether a settlement has executed an offer in an auction. */
export const isSame = (settlement: { auctionId: number; fills: Offer['fills'] }, id: number, { fills }: Offer) =>
  settlement.auctionId === id &&
  settlement.fills.length === fills.length &&
  fills.every(({ order, sold }, i) => {
    const executed = settlement.fills[i];
    return executed?.order.uid === order.uid && executed.sold === sold;
  });
