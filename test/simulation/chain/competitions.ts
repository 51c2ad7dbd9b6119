import type { Hex, OrderBook } from 'intentbook';
import type { Interval, ReadCheck } from '../checks/read-check.ts';
import type { IndexedState, Report, StoreObserver } from '../checks/store-observer.ts';
import type { VirtualProcess } from '../machine/process.ts';
import type { SeededRandom } from '../machine/random.ts';
import type { Scheduler } from '../machine/scheduler.ts';
import type { Pool } from '../orders/pool.ts';
import { BUY_TOKEN, SELL_TOKEN } from '../orders/pool-order.ts';
import type { ChainFact } from './chain.ts';
import { SOLVER } from './settlements.ts';

/** A competition of an auction with one order in its solution. */
export interface Competition {
  readonly auction: number;
  readonly process: string;
  readonly order: number;
  /** The block until which it must be settled. */
  readonly deadline: number;
}

/** A call whose result depends on the orders in flight. */
export interface FlightQuery {
  readonly process: string;
  /** Virtual times. */
  readonly start: number;
  readonly end: number;
  readonly states: readonly IndexedState[];
}

/** The competitions of a simulation, and the settlements whose calldata names their auctions. */
export interface Competitions {
  /** Called when a client records a competition. Returns the function to call when this has succeeded. */
  add(competition: Competition): () => void;
  /** Returns whether an order is in flight: a solution with it can still be settled. */
  findFlight(order: number, query: FlightQuery): 'certain' | 'possible' | 'none';
  /** Draws the auction that a settlement names. A transaction that a fork includes again keeps it. */
  nameAuction(transactionHash: string, orders: readonly number[]): number | undefined;
  /** Returns the auction that a settlement names. */
  getAuction(transactionHash: string): number | undefined;
  /** Returns whether a solution must be settled before a block. */
  hasDeadline(block: number): boolean;
  /** Returns whether a competition has a solution with an order. */
  isBidOn(order: number): boolean;
  /** Returns whether a fact is part of a settlement that names an auction. */
  isNamed(fact: ChainFact): boolean;
  /** Draws an order of a solution that a solver settles in the next block. */
  drawSettled(head: number): number | undefined;
  /** Reads the newest competition, and compares its transactions with the chain. */
  read(book: OrderBook, process: VirtualProcess): Promise<string>;
}

export interface CompetitionsContext {
  readonly pool: Pool;
  readonly random: SeededRandom;
  readonly scheduler: Pick<Scheduler, 'time'>;
  readonly reads: ReadCheck;
  readonly observer: () => Pick<StoreObserver, 'statesBetween'>;
  /** Whether a node has hidden the logs of a transaction. */
  readonly isHidden: (transactionHash: string) => boolean;
  readonly report: Report;
}

interface RecordedCompetition extends Competition {
  /** Virtual times. */
  readonly requested: number;
  recorded: number;
  isReplaced: boolean;
}

/**
 * Maximum age of the funds and times of an auction, with the time that it takes to create one. In milliseconds. Other
 * processes notice a competition after this time.
 */
export const MAX_AGE = 45_000;

export function createCompetitions(context: CompetitionsContext): Competitions {
  const { pool, random, scheduler, reads, observer, isHidden, report } = context;
  const all: RecordedCompetition[] = [];
  /** The auctions that settlements name, by transaction. */
  const named = new Map<string, number | undefined>();

  /** Returns the settlements that name an auction. */
  const listSettlements = (auction: number, { settlements }: IndexedState): readonly Hex[] =>
    settlements.filter((hash) => named.get(hash) === auction);

  /**
   * Returns the transactions that may have settled a solution when it was read: of several settlements, those that
   * trade its order. The book reads the settlements in one of the states, and the trades of each of them later. `null`:
   * none has settled it.
   */
  function listTransactions(
    { auction, order }: Pick<Competition, 'auction' | 'order'>,
    states: readonly IndexedState[],
  ): readonly (Hex | null)[] {
    return states.flatMap((state, i) => {
      const settlements = listSettlements(auction, state);
      if (settlements.length < 2) return settlements[0] ?? null;
      const hasTraded = (hash: Hex) => (later: IndexedState) =>
        later.facts.some((fact) => fact.type === 'trade' && fact.order === order && fact.transactionHash === hash);
      const traded = settlements.filter((hash) => states.slice(i).some(hasTraded(hash)));
      const mayBeNone = settlements.every((hash) => !states.slice(i).every(hasTraded(hash)));
      return mayBeNone ? [...traded, null] : traded;
    });
  }

  /** Returns whether the settlements of an auction may have been found without a new block. */
  const isUncertain = (auction: number) => [...named].some(([hash, each]) => each === auction && isHidden(hash));

  function checkTransactions(auction: number, hashes: readonly string[], interval: Interval): void {
    const states = observer().statesBetween(interval.from, interval.to);
    const expected = states.map((state) => [...listSettlements(auction, state)].sort().join());
    if (!expected.includes([...hashes].sort().join()))
      report('competitions', `auction ${auction} has the settlements ${hashes}, expected ${expected.join(' or ')}`);
  }

  function checkSolution(auction: number, order: number, hash: string | null, interval: Interval): void {
    const states = observer().statesBetween(interval.from, interval.to);
    const expected: readonly (string | null)[] = listTransactions({ auction, order }, states);
    if (!expected.includes(hash))
      report('competitions', `auction ${auction} was settled by ${hash}, expected ${expected.join(' or ')}`);
  }

  return {
    add(competition) {
      const others = all.filter(({ auction }) => auction === competition.auction);
      for (const each of others) each.isReplaced = true;
      const added = {
        ...competition,
        requested: scheduler.time,
        recorded: Number.POSITIVE_INFINITY,
        // The store may execute a concurrent request last.
        isReplaced: others.some(({ recorded }) => recorded === Number.POSITIVE_INFINITY),
      };
      all.push(added);
      return () => {
        added.recorded = scheduler.time;
      };
    },
    findFlight(order, { process, start, end, states }) {
      const mine = all.filter((each) => each.order === order && each.requested <= end);
      const isOver = (each: Competition, { number }: IndexedState) => each.deadline <= number;
      // The book reads its block before the settlements, which may be those of a later block.
      const possible = mine.filter(
        (each) =>
          states.some((state) => !isOver(each, state)) &&
          (isUncertain(each.auction) || listTransactions(each, states).includes(null)),
      );
      const certain = possible.filter(
        (each) =>
          !each.isReplaced &&
          !isUncertain(each.auction) &&
          each.recorded < (each.process === process ? start : start - MAX_AGE) &&
          states.every((state) => !isOver(each, state)) &&
          listTransactions(each, states).every((hash) => hash === null),
      );
      return certain.length > 0 ? 'certain' : possible.length > 0 ? 'possible' : 'none';
    },
    nameAuction(transactionHash, orders) {
      if (!named.has(transactionHash)) {
        const own = all.findLast(({ order }) => orders.includes(order));
        const isOwn = own !== undefined && random.chance(0.9);
        const other = random.chance(0.2) ? all.at(-1) : undefined;
        named.set(transactionHash, (isOwn ? own : other)?.auction);
      }
      return named.get(transactionHash);
    },
    getAuction: (transactionHash) => named.get(transactionHash),
    hasDeadline: (block) => all.some(({ deadline }) => deadline === block),
    isBidOn: (order) => all.some((each) => each.order === order),
    isNamed: ({ type, transactionHash }) => type === 'trade' && named.get(transactionHash) !== undefined,
    drawSettled(head) {
      const pending = all.filter(({ deadline }) => deadline > head);
      return pending.length > 0 && random.chance(0.5) ? random.pick(pending).order : undefined;
    },
    async read(book, process) {
      const last = all.findLast(({ recorded }) => recorded < Number.POSITIVE_INFINITY);
      if (last === undefined) return 'none';
      const { auction } = last;
      const end = reads.mark(process);
      const found = await book.auctions.competition(auction);
      const interval = end();
      if (found === undefined) {
        report('competitions', `the competition of auction ${auction} is missing`);
        return 'absent';
      }
      const { transactionHashes, solutions } = found;
      if (isUncertain(auction)) return 'uncertain';
      checkTransactions(auction, transactionHashes, interval);
      for (const { orders, txHash } of solutions) {
        const { index } = pool.byUid.get(orders[0]?.id ?? '') ?? { index: -1 };
        checkSolution(auction, index, txHash, interval);
      }
      return `${auction} ${transactionHashes.length}`;
    },
  };
}

/**
 * Creates the record of a competition whose winner includes an order.
 *
 * @param start - The block of the auction.
 */
export function createRecord({
  auction: auctionId,
  uid,
  start,
  deadline,
}: {
  readonly auction: number;
  readonly uid: Hex;
  readonly start: number;
  readonly deadline: number;
}): Parameters<OrderBook['auctions']['record']>[0] {
  return {
    auctionId,
    auctionStartBlock: start,
    auctionDeadlineBlock: deadline,
    transactionHashes: [],
    referenceScores: {},
    auction: { orders: [], prices: {} },
    solutions: [
      {
        solverAddress: SOLVER,
        score: '1',
        ranking: 1,
        clearingPrices: {},
        orders: [{ id: uid, sellAmount: '1', buyAmount: '1', sellToken: SELL_TOKEN, buyToken: BUY_TOKEN }],
        isWinner: true,
        filteredOut: false,
        txHash: null,
        referenceScore: null,
      },
    ],
  };
}
