import type { ProtocolFee } from '../ports/chain-store.ts';
import { seconds } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { computeProtocolFees, type WireFeePolicy } from '../protocol/protocol-fees.ts';
import { MAX_UINT256 } from '../protocol/uint256.ts';
import type { AuctionPrices, ExecutedSettlement, SettledAuction, SolutionTrade } from '../records/settled-solution.ts';
import { findSettledSolution } from '../records/settled-solution.ts';
import type { AuctionConfiguration } from './auction-api.ts';
import { type AuctionOrder, auctionCandidate } from './auction-order.ts';
import { readCompetitionRecord } from './competition.ts';
import { type AuctionFeePolicy, createFeeSchedule, type FeeRules } from './fee-policies.ts';

/** The fee rules of an auction, stored with its prices. */
type StoredFees = Pick<FeeRules, 'protocolFees' | 'maxPartnerFee'>;

/** The rules of auctions that were stored without rules. */
const NO_RULES: StoredFees = { protocolFees: [], maxPartnerFee: 10_000 };

/** Renders the values of an auction for the store. Prices are keyed by address, so `fees` is no token. */
export function renderAuctionValues(prices: AuctionPrices, { protocolFees, maxPartnerFee }: FeeRules): string {
  const fees: StoredFees = { protocolFees, maxPartnerFee };
  return JSON.stringify({ ...prices, fees });
}

/**
 * Reads the values of the auction that a settlement belongs to, from the store or from its competition.
 *
 * @param auctionId - The id that the calldata of the settlement contains.
 * @param rules - The rules of this book, of which the policies are replaced by those of the auction.
 */
export async function readSettledAuction(
  auctionId: number,
  settlement: ExecutedSettlement,
  store: Store,
  rules: FeeRules,
): Promise<SettledAuction | undefined> {
  const [auction, competition] = await Promise.all([
    store.auctions.get(auctionId),
    readCompetitionRecord(auctionId, store),
  ]);
  if (competition === undefined || findSettledSolution(competition, settlement) === undefined) return undefined;
  if (auction === undefined) return { prices: competition.auction.prices, protocolFees: async () => [] };
  // Stored by `renderAuctionValues`.
  const { fees = NO_RULES, ...prices } = JSON.parse(auction.prices) as AuctionPrices & { readonly fees?: StoredFees };
  const listed = new Set(competition.orders);

  async function findOrder(uid: SolutionTrade['uid']): Promise<AuctionOrder | undefined> {
    // A solver may settle an order that was not in the auction, which has no policies there.
    if (listed.size > 0 && !listed.has(uid)) return undefined;
    const [row] = await store.orders.get([uid]);
    try {
      return row && auctionCandidate(row, { ...rules, ...fees })?.order;
    } catch {
      return undefined; // reads of the order report the unreadable row
    }
  }

  return {
    prices,
    async protocolFees(trade) {
      const order = await findOrder(trade.uid);
      return order === undefined ? [] : toProtocolFees(trade, order);
    },
  };
}

/** Computes the protocol fees of a trade by the policies of its order in the auction. */
export function toProtocolFees(trade: SolutionTrade, { kind, sellAmount, buyAmount, protocolFees }: AuctionOrder) {
  const amounts = {
    kind,
    sellAmount: BigInt(sellAmount),
    buyAmount: BigInt(buyAmount),
    sold: BigInt(trade.sellAmount) - BigInt(trade.feeAmount),
    bought: BigInt(trade.buyAmount),
  };
  const token = kind === 'sell' ? trade.buyToken : trade.sellToken;
  const fees = computeProtocolFees(amounts, protocolFees);
  // The amounts before such fees cannot be executed. As in production, the trade has no fees then.
  if (fees.some((fee) => fee > MAX_UINT256)) return [];
  return protocolFees.map((policy, i): ProtocolFee => {
    return { policy: toTradePolicy(policy), amount: String(fees[i] ?? 0n), token };
  });
}

/** Converts a policy to the form of trades, whose quotes have no solver. */
function toTradePolicy(policy: AuctionFeePolicy): WireFeePolicy {
  if (!('priceImprovement' in policy)) return policy;
  const { quote, ...factors } = policy.priceImprovement;
  const { sellAmount, buyAmount, fee } = quote;
  return { priceImprovement: { ...factors, quote: { sellAmount, buyAmount, fee } } };
}

/** Creates the reader of settled auctions, with the fee rules that are in force when a settlement is indexed. */
export function createSettledAuctionReader({
  store,
  clock,
  auctions,
  tokens,
}: Pick<AuctionConfiguration, 'store' | 'clock' | 'auctions' | 'tokens'>) {
  const getFees = createFeeSchedule(auctions, tokens);
  return (auctionId: number, settlement: ExecutedSettlement) =>
    readSettledAuction(auctionId, settlement, store, getFees(seconds(clock)));
}
