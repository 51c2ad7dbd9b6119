import type { Address } from '../protocol/hex.ts';
import { assertKnownOptions, parseAddress, requireInteger } from '../validation/options.ts';

/** Options of auctions. Factors are parts per million, from 0 to 999999. */
export interface AuctionOptions {
  /** Seconds that an order must remain valid to be in an auction. Default: 60. */
  readonly minValidity?: number;
  /** Fee policies of the operator, which solvers apply in this order. Default: none. */
  readonly protocolFees?: readonly FeePolicyOption[];
  /** Maximum total of the partner fees of an order, as a share of its volume. Default: 10000, one per cent. */
  readonly maxPartnerFee?: number;
  /**
   * The lowest id of new auctions. Ids are never used twice by books that start at different times, such as a memory
   * store after a restart, a restored backup, or two books on one contract. Default: the time of the first auction,
   * in milliseconds since 1970.
   */
  readonly firstId?: number;
  /**
   * Number of open orders with a contract signature (EIP-1271) that are checked again for each auction, those first
   * that were not checked for longest. An order whose contract rejects the signature is left out. Default: 0.
   */
  readonly maxSignatureChecks?: number;
  /**
   * Accounts whose just-in-time orders count for the scores of solvers, such as pools of the protocol. Their orders
   * have no fee policies of the operator. Default: none.
   */
  readonly surplusCapturingJitOrderOwners?: readonly string[];
  /** Fees that replace `protocolFees` and `maxPartnerFee` from a time on. Default: none. */
  readonly upcomingFees?: UpcomingFees;
}

/** Fees that apply to the auctions from a time on. Trades have the fees of the auction that they settle. */
export interface UpcomingFees {
  /** In seconds since 1970. */
  readonly from: number;
  readonly protocolFees: readonly FeePolicyOption[];
  /** Default: that of the fees before. */
  readonly maxPartnerFee?: number;
}

export type ParsedAuctionOptions = Required<
  Omit<AuctionOptions, 'upcomingFees' | 'firstId' | 'surplusCapturingJitOrderOwners'>
> & {
  readonly jitOrderOwners: readonly Address[];
  readonly firstId: number | undefined;
  readonly upcomingFees: Required<UpcomingFees> | undefined;
};

/** A fee policy of the operator. Factors are parts per million. */
export type FeePolicyOption = FeeCondition &
  (
    | {
        readonly kind: 'volume';
        readonly factor: number;
        /** Other factors of pairs whose tokens are both in a list. The first list counts. */
        readonly buckets?: readonly { readonly tokens: readonly string[]; readonly factor: number }[];
        /** Whether orders whose tokens are worth the same have the fee too. Default: false. */
        readonly equalTokens?: boolean;
      }
    | {
        readonly kind: 'surplus' | 'priceImprovement';
        readonly factor: number;
        /** Maximum fee as a share of the volume. */
        readonly maxVolumeFactor: number;
      }
  );

/** The orders that a fee policy applies to. */
export interface FeeCondition {
  /**
   * `inMarket`: orders that can be filled at their quote, network fee included. `outOfMarket`: all others. Default:
   * `any`.
   */
  readonly orders?: 'any' | 'inMarket' | 'outOfMarket';
}

const JIT_OWNERS = 'surplusCapturingJitOrderOwners';

/** Parses the options of auctions. @throws TypeError naming the option that is unknown or malformed. */
export function parseAuctionOptions(options: AuctionOptions): ParsedAuctionOptions {
  const names = ['minValidity', 'protocolFees', 'maxPartnerFee', 'firstId', 'maxSignatureChecks', 'upcomingFees'];
  names.push(JIT_OWNERS);
  assertKnownOptions('createOrderBook, auctions', options, names);
  const { minValidity = 60, protocolFees = [], maxPartnerFee = 10_000, firstId, upcomingFees } = options;
  const { maxSignatureChecks = 0, surplusCapturingJitOrderOwners: owners = [] } = options;
  requireInteger('createOrderBook: auctions.minValidity', minValidity, 0);
  requireInteger('createOrderBook: auctions.maxSignatureChecks', maxSignatureChecks, 0);
  if (firstId !== undefined) requireInteger('createOrderBook: auctions.firstId', firstId, 0);
  const fees = parseFees('', { protocolFees, maxPartnerFee });
  if (!Array.isArray(owners)) throw invalid(JIT_OWNERS, 'a list of addresses', owners);
  const jitOrderOwners = owners.map((owner) => parseAddress('createOrderBook', `auctions.${JIT_OWNERS}`, owner));
  const parsed = { minValidity, firstId, maxSignatureChecks, jitOrderOwners, ...fees };
  if (upcomingFees === undefined) return { ...parsed, upcomingFees };
  assertKnownOptions('createOrderBook, auctions.upcomingFees', upcomingFees, ['from', 'protocolFees', 'maxPartnerFee']);
  requireInteger('createOrderBook: auctions.upcomingFees.from', upcomingFees.from, 0);
  const { maxPartnerFee: upcomingPartnerFee = maxPartnerFee } = upcomingFees;
  const upcoming = { ...upcomingFees, maxPartnerFee: upcomingPartnerFee };
  return { ...parsed, upcomingFees: { ...upcoming, ...parseFees('upcomingFees.', upcoming) } };
}

type Fees = Pick<ParsedAuctionOptions, 'protocolFees' | 'maxPartnerFee'>;

function parseFees(prefix: string, { protocolFees, maxPartnerFee }: Fees): Fees {
  requireFactor(`${prefix}maxPartnerFee`, maxPartnerFee);
  if (!Array.isArray(protocolFees)) throw invalid(`${prefix}protocolFees`, 'a list of policies', protocolFees);
  const policies = protocolFees.map((policy, i) => parsePolicy(`${prefix}protocolFees.${i}`, policy));
  return { maxPartnerFee, protocolFees: policies };
}

function parsePolicy(name: string, policy: FeePolicyOption): FeePolicyOption {
  const limit = policy.kind === 'volume' ? ['buckets', 'equalTokens'] : ['maxVolumeFactor'];
  assertKnownOptions(`createOrderBook, auctions.${name}`, policy, ['kind', 'orders', 'factor', ...limit]);
  const { orders = 'any', factor } = policy;
  if (!['volume', 'surplus', 'priceImprovement'].includes(policy.kind))
    throw invalid(`${name}.kind`, 'one of volume, surplus, priceImprovement', policy.kind);
  if (!['any', 'inMarket', 'outOfMarket'].includes(orders))
    throw invalid(`${name}.orders`, 'one of any, inMarket, outOfMarket', orders);
  requireFactor(`${name}.factor`, factor);
  if (policy.kind !== 'volume') {
    requireFactor(`${name}.maxVolumeFactor`, policy.maxVolumeFactor);
    return policy;
  }
  if (!['undefined', 'boolean'].includes(typeof policy.equalTokens))
    throw invalid(`${name}.equalTokens`, 'a boolean', policy.equalTokens);
  const buckets = (policy.buckets ?? []).map((bucket) => {
    requireFactor(`${name}.buckets`, bucket.factor);
    return {
      factor: bucket.factor,
      tokens: bucket.tokens.map((token) => parseAddress('createOrderBook', `auctions.${name}.buckets`, token)),
    };
  });
  return { ...policy, buckets };
}

function requireFactor(name: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 0 && value < 1_000_000) return;
  throw invalid(name, 'an integer from 0 to 999999 (parts per million)', value);
}

function invalid(name: string, expected: string, value: unknown): TypeError {
  return new TypeError(`createOrderBook: auctions.${name} must be ${expected}, got ${String(value)}`);
}
