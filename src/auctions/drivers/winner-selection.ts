import { keccak256 } from '../../crypto/keccak.ts';
import { NATIVE_MARKER, ONE_NATIVE } from '../../protocol/chains.ts';
import { type Address, bytesToHex, type Hex, unpackUid } from '../../protocol/hex.ts';
import type { OrderKind } from '../../protocol/order.ts';
import { computeProtocolFees, surplusOver, type WireFeePolicy } from '../../protocol/protocol-fees.ts';
import { MAX_UINT256 } from '../../protocol/uint256.ts';
import type { AuctionPrices } from '../../records/settled-solution.ts';

/** Version of the rules below. A change that can select other winners increases it. */
export const SELECTION_RULES = 4;

/** One order that a solution executes. Amounts in atoms, executed amounts with all fees. */
export interface ExecutedOrder {
  readonly uid: Hex;
  readonly kind: OrderKind;
  readonly sellToken: Address;
  readonly buyToken: Address;
  /** The limit of the whole order. */
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly executedSell: bigint;
  readonly executedBuy: bigint;
}

export interface CompetingSolution {
  /** The name of its driver. */
  readonly driver: string;
  readonly solver: Address;
  readonly orders: readonly ExecutedOrder[];
}

/** The auction that solutions are scored with. */
export interface ScoredAuction {
  readonly auctionId: number;
  readonly prices: AuctionPrices;
  /** The orders of the auction. Executions of other orders have no score, except of `jitOwners`. */
  readonly orders: ReadonlyMap<Hex, { readonly protocolFees: readonly WireFeePolicy[] }>;
  /** The owners whose just-in-time orders count, without fees. */
  readonly jitOwners: readonly Address[];
  readonly wrappedNative: Address | undefined;
  readonly maxWinners: number;
}

/** A solution with its score in wei. */
export interface RankedSolution<S extends CompetingSolution> {
  readonly solution: S;
  readonly score: bigint;
  readonly isWinner: boolean;
  /** Whether the fairness filter has excluded it. */
  readonly filteredOut: boolean;
}

export interface Selection<S extends CompetingSolution> {
  /** Best first: winners, then the others by score, then those that were filtered out. */
  readonly ranked: readonly RankedSolution<S>[];
  /** Total score of the winners without a solver, for each solver of a winner. */
  readonly referenceScores: ReadonlyMap<Address, bigint>;
}

interface Scored<S> {
  readonly solution: S;
  readonly score: bigint;
  /** Scores by directed pair of tokens. */
  readonly pairs: ReadonlyMap<string, bigint>;
}

/**
 * Selects the winners of an auction (CIP-38 scores, CIP-67 combinatorial auction):
 *
 * 1. The score of an order is its surplus and its protocol fees, in wei. A solution whose score is 0 or exceeds 256
 *    bits, or with a token without a price, does not compete.
 * 2. The baseline of a directed pair is the best score of a solution with this pair only. A solution with several pairs
 *    that is below the baseline of any of them is filtered out.
 * 3. The best solution wins, then each next one without a directed pair or an order of an earlier winner, up to
 *    `maxWinners`.
 *
 * Solutions with equal scores are sorted by a hash of the auction id and of the name of their driver, so that no driver
 * is preferred. A solver could choose among its accounts, but not the name. Those of one driver keep their order.
 */
export function selectWinners<S extends CompetingSolution>(
  solutions: readonly S[],
  context: ScoredAuction,
): Selection<S> {
  const scored = solutions.flatMap((solution) => score(solution, context));
  const draw = createDraw(context.auctionId);
  scored.sort((a, b) => compareDescending(a.score, b.score) || draw(a.solution.driver, b.solution.driver));
  const baselines = findBaselines(scored);
  const isFair = ({ pairs }: Scored<S>) =>
    pairs.size === 1 || [...pairs].every(([pair, value]) => value >= (baselines.get(pair) ?? 0n));
  const fair = scored.filter(isFair);
  const winners = pickWinners(fair, context);
  const rank = (each: Scored<S>, filteredOut: boolean): RankedSolution<S> => {
    return { solution: each.solution, score: each.score, isWinner: winners.has(each), filteredOut };
  };
  return {
    ranked: [
      ...fair.filter((each) => winners.has(each)).map((each) => rank(each, false)),
      ...fair.filter((each) => !winners.has(each)).map((each) => rank(each, false)),
      ...scored.filter((each) => !isFair(each)).map((each) => rank(each, true)),
    ],
    referenceScores: computeReferenceScores(fair, winners, context),
  };
}

/** @returns An empty list if the solution does not compete. */
function score<S extends CompetingSolution>(solution: S, { prices, orders, jitOwners }: ScoredAuction): Scored<S>[] {
  const pairs = new Map<string, bigint>();
  for (const order of solution.orders) {
    const fees =
      orders.get(order.uid)?.protocolFees ?? (jitOwners.includes(unpackUid(order.uid).owner) ? [] : undefined);
    if (fees === undefined) continue;
    const value = scoreOrder(order, fees, prices);
    if (value === undefined) return [];
    const pair = `${order.sellToken} ${order.buyToken}`;
    pairs.set(pair, (pairs.get(pair) ?? 0n) + value);
  }
  const total = [...pairs.values()].reduce((sum, each) => sum + each, 0n);
  if (total > MAX_UINT256) return [];
  return total === 0n ? [] : [{ solution, pairs, score: total }];
}

/** Returns surplus and fees in wei. Those of a purchase are converted to the buy token at its limit price. */
function scoreOrder(
  order: ExecutedOrder,
  policies: readonly WireFeePolicy[],
  prices: AuctionPrices,
): bigint | undefined {
  const { kind, sellAmount, buyAmount, executedSell: sold, executedBuy: bought, buyToken } = order;
  const price = buyToken === NATIVE_MARKER ? ONE_NATIVE : prices[buyToken];
  if (price === undefined) return undefined;
  const trade = { kind, sellAmount, buyAmount, sold, bought };
  const fees = computeProtocolFees(trade, policies).reduce((sum, fee) => sum + fee, 0n);
  const gain = surplusOver(trade, { sell: sellAmount, buy: buyAmount }) + fees;
  const inBuyToken = kind === 'sell' ? gain : (gain * buyAmount) / sellAmount;
  return (inBuyToken * BigInt(price)) / BigInt(ONE_NATIVE);
}

/** Returns the best score of the solutions with one pair, by pair. */
function findBaselines(solutions: readonly Scored<unknown>[]): ReadonlyMap<string, bigint> {
  const baselines = new Map<string, bigint>();
  for (const { pairs } of solutions) {
    const [first, second] = pairs;
    if (first === undefined || second !== undefined) continue;
    const [pair, value] = first;
    if (value > (baselines.get(pair) ?? -1n)) baselines.set(pair, value);
  }
  return baselines;
}

/** Picks winners from solutions that are sorted by score. Wrapped and native currency are one token. */
function pickWinners<S extends CompetingSolution>(
  sorted: readonly Scored<S>[],
  { wrappedNative, maxWinners }: ScoredAuction,
): ReadonlySet<Scored<S>> {
  const name = (token: Address) => (token === wrappedNative ? NATIVE_MARKER : token);
  const taken = new Set<string>();
  const winners = new Set<Scored<S>>();
  for (const each of sorted) {
    if (winners.size >= maxWinners) break;
    // An order of the solver may have other tokens in each solution.
    const keys = each.solution.orders.flatMap(({ uid, sellToken, buyToken }) => {
      return [uid, `${name(sellToken)} ${name(buyToken)}`];
    });
    if (keys.some((key) => taken.has(key))) continue;
    for (const key of keys) taken.add(key);
    winners.add(each);
  }
  return winners;
}

function computeReferenceScores<S extends CompetingSolution>(
  fair: readonly Scored<S>[],
  winners: ReadonlySet<Scored<S>>,
  context: ScoredAuction,
): ReadonlyMap<Address, bigint> {
  const references = new Map<Address, bigint>();
  for (const { solution } of winners) {
    const { solver } = solution;
    if (references.has(solver)) continue;
    const others = fair.filter((each) => each.solution.solver !== solver);
    const total = [...pickWinners(others, context)].reduce((sum, each) => sum + each.score, 0n);
    references.set(solver, total);
  }
  return references;
}

function compareDescending(a: bigint, b: bigint): number {
  return a > b ? -1 : a < b ? 1 : 0;
}

/** Creates a comparison of drivers in an order that differs by auction. */
function createDraw(auctionId: number): (a: string, b: string) => number {
  const lots = new Map<string, string>();
  const lotOf = (driver: string): string => {
    const lot = lots.get(driver) ?? bytesToHex(keccak256(new TextEncoder().encode(`${auctionId} ${driver}`)));
    lots.set(driver, lot);
    return lot;
  };
  return (a, b) => (lotOf(a) < lotOf(b) ? -1 : lotOf(a) > lotOf(b) ? 1 : 0);
}
