import type { ContractSignatureQuery } from '../ports/chain-client.ts';
import type { OrderQuote } from '../ports/quote-store.ts';
import type { StoredOrder } from '../ports/store.ts';
import { type Address, type Hex, unpackUid, ZERO_ADDRESS } from '../protocol/hex.ts';
import type { BuyTokenDestination, OrderKind, SellTokenSource } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import type { InteractionData } from '../protocol/trampoline.ts';
import type { AuctionPrices } from '../records/settled-solution.ts';
import { getSpending, readMetadata } from '../records/spending.ts';
import type { Order, OrderBody, OrderClass, StoredOrderQuote } from '../records/wire-order.ts';
import { type AuctionFeePolicy, type AuctionQuote, type FeeRules, getFeePolicies } from './fee-policies.ts';
import type { FundingQuery } from './funding.ts';

/** An auction: the funded open orders and the native prices of their tokens. */
export interface Auction {
  /** Greater than the id of every earlier auction. */
  readonly id: number;
  /** The newest indexed block. 0 if none is indexed. */
  readonly block: number;
  /** Sorted by `created`, then by UID. */
  readonly orders: readonly AuctionOrder[];
  /** Sorted by token. */
  readonly prices: AuctionPrices;
  readonly surplusCapturingJitOrderOwners: readonly Address[];
}

/** An order of an auction. Amounts are decimal strings of atoms, as signed. */
export interface AuctionOrder {
  readonly uid: Hex;
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly sellAmount: string;
  readonly buyAmount: string;
  /** The fee policies that solvers apply, in this order. */
  readonly protocolFees: readonly AuctionFeePolicy[];
  /** In seconds since 1970. */
  readonly created: number;
  /** The signed validity, in seconds since 1970. */
  readonly validTo: number;
  readonly kind: OrderKind;
  readonly receiver: Address | null;
  readonly owner: Address;
  readonly partiallyFillable: boolean;
  /** The executed amount, in atoms of the token with the fixed amount. */
  readonly executed: string;
  /** Interactions that run once, before the first fill. */
  readonly preInteractions: readonly InteractionData[];
  readonly postInteractions: readonly InteractionData[];
  readonly sellTokenBalance: SellTokenSource;
  readonly buyTokenBalance: BuyTokenDestination;
  readonly class: OrderClass;
  readonly appData: Hex;
  readonly signingScheme: SigningScheme;
  readonly signature: Hex;
  /** The quote. Without one: the sell amount of the order, and 0 as buy amount. */
  readonly quote: AuctionQuote;
}

/** Compares the positions of two orders in an auction: by `created`, then by UID. */
export function compareAuctionOrders(a: AuctionOrder, b: AuctionOrder): number {
  return a.created - b.created || (a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0);
}

/** A candidate for an auction, with the data that decides whether it is included. */
export interface AuctionCandidate {
  readonly order: AuctionOrder;
  /** Milliseconds since 1970. */
  readonly created: number;
  /** Effective validity, in seconds since 1970. */
  readonly validTo: number;
  /** Earliest settlement, in seconds since 1970. */
  readonly validFrom: number;
  readonly pair: TokenPair;
  /** Required balance and allowance in atoms of the sell token. `undefined` if it cannot be determined beforehand. */
  readonly needs: bigint | undefined;
  /** The query of its funds. `undefined` if `needs` is. */
  readonly funds: FundingQuery | undefined;
  /** What remains of the limits of a partially fillable order, in atoms. `undefined` for other orders. */
  readonly rest: { readonly sell: bigint; readonly buy: bigint } | undefined;
  /** The query that checks the signature of a contract. `undefined` for other schemes and orders placed on chain. */
  readonly signatureQuery: ContractSignatureQuery | undefined;
}

/** The tokens of an order. Orders with the same tokens share it. */
export interface TokenPair {
  readonly sellToken: Address;
  readonly buyToken: Address;
}

/** Returns one value for equal ones, so that a pass over all orders compares no texts and reads few objects. */
export interface Sharing {
  pair(sellToken: Address, buyToken: Address): TokenPair;
  query(order: AuctionOrder): FundingQuery | undefined;
}

/**
 * Reads an open order for an auction.
 *
 * @param row - The order with its quote, if it has one.
 * @param fees - The rules for its fee policies.
 * @param share - Returns the values that orders share. Default: each has its own.
 * @returns `undefined` if it is not for auctions: its placement failed, it was refunded, or it is a just-in-time order.
 * @throws if the row is unreadable.
 */
export function auctionCandidate(
  row: StoredOrder,
  fees: FeeRules,
  share: Sharing = { pair: (sellToken, buyToken) => ({ sellToken, buyToken }), query: () => undefined },
): AuctionCandidate | undefined {
  const body = JSON.parse(row.body) as OrderBody; // rendered from this type
  if (body.isLiquidityOrder) return undefined;
  // Rendered from this type.
  const placement = (row.placement === null ? {} : JSON.parse(row.placement)) as Partial<Order>;
  if (placement.onchainOrderData?.placementError !== undefined || placement.ethflowData?.isRefunded) return undefined;
  // The text of the row is shared by all readers, and its hash is known.
  const { uid } = row;
  const { sellAmount, buyAmount, kind, feeAmount, interactions, validFrom = 0 } = body;
  const pair = share.pair(body.sellToken, body.buyToken);
  const { sellToken, buyToken } = pair;
  const isUntouched = row.executedSellAmount === '0';
  const sold = isUntouched ? '0' : String(BigInt(row.executedSellAmount) - BigInt(row.executedFeeAmount));
  const quote = toAuctionQuote(row.quote) ?? { sellAmount, buyAmount: '0', fee: feeAmount, solver: ZERO_ADDRESS };
  const metadata = readMetadata(row.fullAppData);
  const { partnerFees } = metadata;
  const { owner } = body;
  const terms = { kind, sellToken, buyToken, sellAmount, buyAmount, quote, partnerFees, owner };
  const order: AuctionOrder = {
    uid,
    sellToken,
    buyToken,
    sellAmount,
    buyAmount,
    protocolFees: getFeePolicies(terms, fees),
    created: Math.floor(row.creationDate / 1000),
    validTo: body.validTo,
    kind,
    receiver: body.receiver,
    owner,
    partiallyFillable: body.partiallyFillable,
    executed: kind === 'sell' ? sold : row.executedBuyAmount,
    preInteractions: isUntouched ? interactions.pre : [],
    postInteractions: interactions.post,
    sellTokenBalance: body.sellTokenBalance,
    buyTokenBalance: body.buyTokenBalance,
    class: body.class,
    appData: body.appData,
    signingScheme: body.signingScheme,
    signature: body.signature,
    quote,
  };
  const { creationDate: created, validTo } = row;
  const isChecked = body.signingScheme === 'eip1271' && row.placement === null;
  const { signature, preInteractions: pre } = order;
  const signatureQuery = isChecked
    ? { owner, digest: unpackUid(uid).digest, signature, pre, flashloan: metadata.flashloan }
    : undefined;
  const needs = getSpending(body, metadata);
  return {
    order,
    created,
    validTo,
    validFrom,
    pair,
    needs,
    funds: needs === undefined ? undefined : share.query(order),
    rest: getRest(order),
    signatureQuery,
  };
}

function getRest({ partiallyFillable, kind, ...amounts }: AuctionOrder): AuctionCandidate['rest'] {
  if (!partiallyFillable) return undefined;
  const [sell, buy, executed] = [BigInt(amounts.sellAmount), BigInt(amounts.buyAmount), BigInt(amounts.executed)];
  if (executed === 0n) return { sell, buy };
  const [whole, rest] = kind === 'sell' ? [sell, sell - executed] : [buy, buy - executed];
  return rest <= 0n ? { sell: 0n, buy: 0n } : { sell: (sell * rest) / whole, buy: (buy * rest) / whole };
}

function toAuctionQuote(quote: OrderQuote | null): AuctionQuote | undefined {
  if (quote === null) return undefined;
  // Rendered from this type.
  const { sellAmount, buyAmount, feeAmount: fee, solver } = JSON.parse(quote.body) as StoredOrderQuote;
  return { sellAmount, buyAmount, fee, solver };
}
