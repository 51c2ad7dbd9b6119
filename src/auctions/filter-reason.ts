/** The reasons for which an open order is not in an auction, in the order in which they are checked. */
export const FILTER_REASONS = [
  'notYetValid',
  'shortLived',
  'deniedToken',
  'deniedAddress',
  'inFlight',
  'invalidSignature',
  'unfunded',
  'dust',
  'unpriced',
] as const;

/**
 * The reason for which an open order is not in an auction:
 * - `notYetValid`: before its `validFrom`;
 * - `shortLived`: it expires before it can be settled;
 * - `deniedToken`, `deniedAddress`: a token, the owner or the receiver is deny-listed;
 * - `inFlight`: a winning solution with the order may still be settled;
 * - `invalidSignature`: its contract no longer accepts its signature;
 * - `unfunded`: balance or allowance are too low;
 * - `dust`: the part that can be filled rounds to nothing;
 * - `unpriced`: the native price of a token is unknown.
 */
export type FilterReason = (typeof FILTER_REASONS)[number];
