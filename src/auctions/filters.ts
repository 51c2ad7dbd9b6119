import { NATIVE_MARKER } from '../protocol/chains.ts';
import { type Address, type Hex, ZERO_ADDRESS } from '../protocol/hex.ts';
import type { AuctionPrices } from '../records/settled-solution.ts';
import type { AuctionCandidate, AuctionOrder, TokenPair } from './auction-order.ts';
import type { FilterReason } from './filter-reason.ts';

/** The inputs of the checks that need no query. */
export interface TimeAndTokens {
  /** Seconds since 1970. */
  readonly now: number;
  /** Seconds that an order must remain valid. */
  readonly minValidity: number;
  readonly deniedTokens: ReadonlySet<Address>;
}

/** Checks time and tokens. @returns `over` for an order that has expired, `undefined` if it can trade. */
export function checkTimeAndTokens(
  { pair, validFrom, validTo }: AuctionCandidate,
  { now, minValidity, deniedTokens }: TimeAndTokens,
): FilterReason | 'over' | undefined {
  if (validTo < now) return 'over';
  if (validFrom > now) return 'notYetValid';
  if (validTo < now + minValidity) return 'shortLived';
  if (deniedTokens.size === 0) return undefined;
  return deniedTokens.has(pair.sellToken) || deniedTokens.has(pair.buyToken) ? 'deniedToken' : undefined;
}

/** Returns the owner, and the receiver if it differs. */
export function getParties({ owner, receiver }: AuctionOrder): readonly Address[] {
  return receiver === null || receiver === ZERO_ADDRESS || receiver === owner ? [owner] : [owner, receiver];
}

/**
 * Checks the funds of an order.
 *
 * @param available - The lesser of balance and allowance in atoms. `undefined` if it is not needed or could not be
 *   read.
 * @param isChecked - Whether the book can read funds. Otherwise every order counts as funded.
 */
export function checkFunds(
  { rest, needs }: AuctionCandidate,
  available: bigint | undefined,
  isChecked: boolean,
): FilterReason | undefined {
  if (needs !== undefined && isChecked && (available ?? -1n) < needs) return 'unfunded';
  return isDust(rest, available) ? 'dust' : undefined;
}

/** Returns whether the part of a partially fillable order that its funds cover rounds to nothing. */
function isDust(rest: AuctionCandidate['rest'], available: bigint | undefined): boolean {
  if (rest === undefined) return false;
  if (rest.sell === 0n || rest.buy === 0n) return true;
  return available !== undefined && available < rest.sell && (rest.buy * available) / rest.sell === 0n;
}

/** Returns the pairs of which both tokens have a price. Native currency has one. */
export function findPriced(pairs: ReadonlySet<TokenPair>, prices: AuctionPrices): ReadonlySet<TokenPair> {
  const isPriced = (token: Address) => token === NATIVE_MARKER || prices[token] !== undefined;
  return new Set([...pairs].filter(({ sellToken, buyToken }) => isPriced(sellToken) && isPriced(buyToken)));
}

/** Counts reasons. Reasons without an order are left out. */
export function countReasons(reasons: ReadonlyMap<Hex, FilterReason>): Partial<Record<FilterReason, number>> {
  const counts: Partial<Record<FilterReason, number>> = {};
  for (const reason of reasons.values()) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}
