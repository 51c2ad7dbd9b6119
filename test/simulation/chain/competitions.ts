import type { Hex, OrderBook } from 'intentbook';
import type { Interval, ReadCheck } from '../checks/read-check.ts';
import type { IndexedState, Report, StoreObserver } from '../checks/store-observer.ts';
import type { VirtualProcess } from '../machine/process.ts';
import type { SeededRandom } from '../machine/random.ts';
import type { Scheduler } from '../machine/scheduler.ts';
import type { Pool } from '../orders/pool.ts';
import type { PoolOrder } from '../orders/pool-order.ts';
import { BUY_TOKEN, SELL_TOKEN } from '../orders/pool-order.ts';
import type { ChainFact } from './chain.ts';
import { SOLVER } from './settlements.ts';

/** A competition of an auction with one order in its solution. */
export interface Competition extends Solution {
  readonly auction: number;
  readonly process: string;
}

/** A solution with one order. */
export interface Solution {
  readonly order: number;
  /** Atoms. */
  readonly sold: bigint;
  readonly bought: bigint;
  /** The block of the auction. */
  readonly start: number;
  /** The block until which it must be settled. */
  readonly deadline: number;
}

/** Atoms of the fixed token of an order that solutions execute. */
export const SOLVED_AMOUNT = 2;

/** Blocks around those of an auction in which a settlement still belongs to it. */
const MARGIN = 100;

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
  nameAuction(transactionHash: string, trades: readonly ChainFact[]): number | undefined;
  /**
   * Returns whether a settlement in a block belongs to an auction, as far as it was recorded before a virtual time.
   * `foreign`: it names an auction, and does not belong to it. `none`: it names no auction.
   */
  findAttribution(transactionHash: string, block: number, before: number): 'certain' | 'possible' | 'foreign' | 'none';
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
  /** The trades of settlements, by transaction. */
  const trades = new Map<string, readonly ChainFact[]>();

  /** Returns whether a settlement has executed a solution. A book that lacks the order does not know its kind. */
  function executes(
    hash: string,
    block: number,
    { order, sold, bought, start, deadline }: Solution,
  ): 'certain' | 'possible' | 'none' {
    if (block < start - MARGIN || block > deadline + MARGIN) return 'none';
    const own = trades.get(hash) ?? [];
    if (own.some((trade) => trade.order !== order)) return 'none';
    const total = { sold: 0n, bought: 0n };
    for (const trade of own) {
      total.sold += trade.sold;
      total.bought += trade.bought;
    }
    const byKind = pool.orders[order]?.kind === 'buy' ? total.bought === bought : total.sold === sold;
    const byAmounts =
      (total.sold === sold && total.bought >= bought) || (total.bought === bought && total.sold <= sold);
    if (byKind && byAmounts) return 'certain';
    return byKind || byAmounts ? 'possible' : 'none';
  }

  const isPresent = (hash: Hex) => (state: IndexedState) => {
    const stored = state.facts.filter((fact) => fact.type === 'trade' && fact.transactionHash === hash);
    return stored.length === trades.get(hash)?.length;
  };

  /**
   * Returns the settlements that belong to a solution in a state. The book reads the settlements in that state, and the
   * trades of each of them later. One in an earlier block than that of the auction belongs to it only if a fork has
   * moved it there: the book may have indexed it before the competition.
   */
  function listSettlements(auction: number, solution: Solution, states: readonly IndexedState[], i: number) {
    const own = (states[i]?.settlements ?? []).filter(
      ({ transactionHash: hash, number }) => named.get(hash) === auction && executes(hash, number, solution) !== 'none',
    );
    const later = states.slice(i);
    const possible = own.filter(({ transactionHash: hash }) => later.some(isPresent(hash)));
    const certain = own.filter(
      ({ transactionHash: hash, number }) =>
        number >= solution.start && executes(hash, number, solution) === 'certain' && later.every(isPresent(hash)),
    );
    const toHash = ({ transactionHash }: { readonly transactionHash: Hex }) => transactionHash;
    return { possible: possible.map(toHash), certain: certain.map(toHash) };
  }

  /** Returns the transactions that may have settled a solution when it was read. `null`: none has settled it. */
  function listTransactions(competition: Competition, states: readonly IndexedState[]): readonly (Hex | null)[] {
    return states.flatMap((_, i) => {
      const { possible, certain } = listSettlements(competition.auction, competition, states, i);
      return certain.length === 0 ? [...possible, null] : possible;
    });
  }

  /** Returns whether the settlements of an auction may have been found without a new block. */
  const isUncertain = (auction: number) => [...named].some(([hash, each]) => each === auction && isHidden(hash));

  function checkTransactions(auction: number, solution: Solution, hashes: readonly Hex[], interval: Interval): void {
    const states = observer().statesBetween(interval.from, interval.to);
    const isExpected = states.some((_, i) => {
      const { possible, certain } = listSettlements(auction, solution, states, i);
      return certain.every((hash) => hashes.includes(hash)) && hashes.every((hash) => possible.includes(hash));
    });
    if (isExpected) return;
    const expected = states.map((_, i) => listSettlements(auction, solution, states, i).possible.join());
    report('competitions', `auction ${auction} has the settlements ${hashes}, expected ${expected.join(' or ')}`);
  }

  function checkSolution(competition: Competition, hash: Hex | null, interval: Interval): void {
    const states = observer().statesBetween(interval.from, interval.to);
    const expected = listTransactions(competition, states);
    if (!expected.includes(hash)) {
      const auction = `auction ${competition.auction}`;
      report('competitions', `${auction} was settled by ${hash}, expected ${expected.join(' or ')}`);
    }
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
    nameAuction(transactionHash, facts) {
      trades.set(transactionHash, facts);
      if (!named.has(transactionHash)) {
        const own = all.findLast(({ order }) => facts.some((fact) => fact.order === order));
        const isOwn = own !== undefined && random.chance(0.9);
        const other = random.chance(0.2) ? all.at(-1) : undefined;
        named.set(transactionHash, (isOwn ? own : other)?.auction);
      }
      return named.get(transactionHash);
    },
    findAttribution(hash, block, before) {
      const own = all.filter(({ auction }) => auction === named.get(hash));
      const execution = (each: RecordedCompetition) => executes(hash, block, each);
      const matches = own.filter((each) => execution(each) !== 'none');
      const certain = matches.filter((each) => execution(each) === 'certain' && block >= each.start);
      if (certain.some((each) => !each.isReplaced && each.recorded < before)) return 'certain';
      if (matches.length > 0) return 'possible';
      return named.get(hash) === undefined ? 'none' : 'foreign';
    },
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
      const { transactionHashes, solutions, auctionStartBlock: start, auctionDeadlineBlock: deadline } = found;
      if (isUncertain(auction)) return 'uncertain';
      for (const { orders, txHash } of solutions) {
        const [{ id = '', sellAmount = '0', buyAmount = '0' } = {}] = orders;
        const order = pool.byUid.get(id)?.index ?? -1;
        const solution = { order, sold: BigInt(sellAmount), bought: BigInt(buyAmount), start, deadline };
        checkTransactions(auction, solution, transactionHashes, interval);
        checkSolution({ ...solution, auction, process: process.name }, txHash, interval);
      }
      return `${auction} ${transactionHashes.length}`;
    },
  };
}

/** Returns the solution that executes a part of an order at its limit price. */
export function solve(
  { index: order, kind, sellAmount, buyAmount }: PoolOrder,
  start: number,
  deadline: number,
): Solution {
  const fixed = BigInt(SOLVED_AMOUNT);
  const other = kind === 'sell' ? (fixed * buyAmount + sellAmount - 1n) / sellAmount : (fixed * sellAmount) / buyAmount;
  return { order, start, deadline, sold: kind === 'sell' ? fixed : other, bought: kind === 'sell' ? other : fixed };
}

/** Creates the record of a competition with a solution that wins. */
export function createRecord(
  auctionId: number,
  uid: Hex,
  { sold, bought, start, deadline }: Solution,
): Parameters<OrderBook['auctions']['record']>[0] {
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
        orders: [
          {
            id: uid,
            sellAmount: String(sold),
            buyAmount: String(bought),
            sellToken: SELL_TOKEN,
            buyToken: BUY_TOKEN,
          },
        ],
        isWinner: true,
        filteredOut: false,
        txHash: null,
        referenceScore: null,
      },
    ],
  };
}
