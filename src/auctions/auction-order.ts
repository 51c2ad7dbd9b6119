import type { Order, OrderBody, OrderClass, StoredOrderQuote } from '../orders/order-json.ts';
import type { OrderQuote } from '../ports/quotes.ts';
import type { StoredOrder } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { ZERO_ADDRESS } from '../protocol/hex.ts';
import type { BuyTokenDestination, OrderKind, SellTokenSource } from '../protocol/order.ts';
import type { SigningScheme } from '../protocol/signature.ts';
import type { InteractionData } from '../protocol/trampoline.ts';

/** An order as solvers get it. Amounts are decimal strings of atoms, those of the signed order. */
export interface AuctionOrder {
  readonly uid: Hex;
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly sellAmount: string;
  readonly buyAmount: string;
  readonly protocolFees: readonly Readonly<Record<string, unknown>>[];
  /** Seconds since 1970. */
  readonly created: number;
  /** The signed one, in seconds since 1970. */
  readonly validTo: number;
  readonly kind: OrderKind;
  readonly receiver: Address | null;
  readonly owner: Address;
  readonly partiallyFillable: boolean;
  /** What has been executed so far, in the token of the fixed amount. */
  readonly executed: string;
  /** Run once, before the first fill. */
  readonly preInteractions: readonly InteractionData[];
  readonly postInteractions: readonly InteractionData[];
  readonly sellTokenBalance: SellTokenSource;
  readonly buyTokenBalance: BuyTokenDestination;
  readonly class: OrderClass;
  readonly appData: Hex;
  readonly signingScheme: SigningScheme;
  readonly signature: Hex;
  /** Of an order without a quote: its own sell amount, for nothing. */
  readonly quote: AuctionQuote;
}

/** What an order was quoted, in atoms, as an auction lists it. */
export interface AuctionQuote {
  readonly sellAmount: string;
  readonly buyAmount: string;
  readonly fee: string;
  readonly solver: Address;
}

/** An order as it stands in an auction, with what decides whether it does. */
export interface AuctionCandidate {
  readonly version: number;
  readonly order: AuctionOrder;
  /** Seconds since 1970 before which it must not be settled. */
  readonly validFrom: number;
  /** Atoms of the sell token that its owner must have and have allowed; `undefined` where nobody can tell beforehand. */
  readonly needs: bigint | undefined;
}

/**
 * Reads an open order for an auction.
 *
 * @param row with its quote, if it has one.
 * @returns `undefined` when it cannot trade whatever happens: it was not placed properly, or was refunded.
 * @throws when the row is damaged.
 */
export function auctionCandidate(row: StoredOrder): AuctionCandidate | undefined {
  const body = JSON.parse(row.body) as OrderBody; // as rendered
  const placement = (row.placement === null ? {} : JSON.parse(row.placement)) as Partial<Order>; // as rendered
  if (placement.onchainOrderData?.placementError !== undefined || placement.ethflowData?.isRefunded) return undefined;
  const { uid, sellToken, buyToken, sellAmount, buyAmount, kind, feeAmount, interactions, validFrom = 0 } = body;
  const sold = BigInt(row.executedSellAmount) - BigInt(row.executedFeeAmount);
  const isUntouched = row.executedSellAmount === '0';
  const order: AuctionOrder = {
    uid,
    sellToken,
    buyToken,
    sellAmount,
    buyAmount,
    protocolFees: [],
    created: Math.floor(row.creationDate / 1000),
    validTo: body.validTo,
    kind,
    receiver: body.receiver,
    owner: body.owner,
    partiallyFillable: body.partiallyFillable,
    executed: kind === 'sell' ? String(sold) : row.executedBuyAmount,
    preInteractions: isUntouched ? interactions.pre : [],
    postInteractions: interactions.post,
    sellTokenBalance: body.sellTokenBalance,
    buyTokenBalance: body.buyTokenBalance,
    class: body.class,
    appData: body.appData,
    signingScheme: body.signingScheme,
    signature: body.signature,
    quote: toAuctionQuote(row.quote) ?? { sellAmount, buyAmount: '0', fee: feeAmount, solver: ZERO_ADDRESS },
  };
  return { version: row.version, order, validFrom, needs: fundsNeeded(body) };
}

/** @returns atoms of the sell token that an open order's owner must have and have allowed; `undefined` where nobody can tell. */
export function fundsNeeded(order: Omit<OrderBody, 'validFrom'>): bigint | undefined {
  const { signingScheme, sellTokenBalance, interactions, partiallyFillable, sellAmount, feeAmount } = order;
  // Contracts may find the funds while they are asked for their signature, hooks while they run.
  if (signingScheme === 'eip1271' || sellTokenBalance !== 'erc20' || interactions.pre.length > 0) return undefined;
  return partiallyFillable ? 1n : BigInt(sellAmount) + BigInt(feeAmount);
}

function toAuctionQuote(quote: OrderQuote | null): AuctionQuote | undefined {
  if (quote === null) return undefined;
  const { sellAmount, buyAmount, feeAmount: fee, solver } = JSON.parse(quote.body) as StoredOrderQuote; // as rendered
  return { sellAmount, buyAmount, fee, solver };
}
