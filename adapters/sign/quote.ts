import { assertMembers, format, toAmount, toChoice, toInteger } from './checks.ts';
import { checkOrder, type OrderToSign } from './order.ts';
import type { Hex } from './types.ts';

/** The members of a quote response (`POST /api/v1/quote`) that an order is made from. */
export interface QuoteToSign {
  readonly quote: Omit<OrderToSign, 'feeAmount'> & { readonly feeAmount: string; readonly appDataHash?: string };
  /** Account that the quote was requested for. */
  readonly from?: string;
  /** Number that links the order to the quote; null if the quote is not stored. */
  readonly id?: number | null;
}

/** Terms that differ from those of the quote. */
export interface OrderFromQuoteOptions {
  /** Tolerated loss against the quote, in basis points from 0 to 10000. Default: 50. */
  readonly slippageBps?: number;
  /** In seconds since 1970. Default: that of the quote. */
  readonly validTo?: number;
  /** Account that receives the buy token. Default: that of the quote. */
  readonly receiver?: Hex | null;
  /** Default: that of the quote. */
  readonly partiallyFillable?: boolean;
  /** The app-data document. Default: that of the quote; `{}` if the quote has none. */
  readonly appData?: string;
}

/** An order with every member that `POST /api/v1/orders` takes, except the signature. */
export interface UnsignedOrder extends Required<OrderToSign> {
  readonly receiver: Hex | null;
  readonly sellAmount: string;
  readonly buyAmount: string;
  readonly feeAmount: '0';
  readonly quoteId: number | null;
}

const BASIS = 10_000n;
const MILLION = 1_000_000n;
const MAX_UINT256 = 2n ** 256n - 1n;

/** The hash that a quote returns if its request has no app data. */
const NO_APP_DATA = `0x${'0'.repeat(64)}`;

/**
 * Creates an order from a quote. The fee of the quote is added to the sell amount, and the signed fee is 0. The
 * partner fee on the volume that the app data contains is subtracted from the buy amount of a sale, and added to the
 * sell amount of a purchase; then the slippage. Both are rounded in favour of a fill. The minimum to buy is 1 atom.
 *
 * ```ts
 * const order = orderFromQuote(quote, { slippageBps: 50 });
 * const signature = await account.signTypedData(orderTypedData(domain, order));
 * await book.orders.submit({ ...order, from: account.address, signature, signingScheme: 'eip712' });
 * ```
 *
 * @throws TypeError if an option is unknown, if a member of the quote or an option is malformed, or if an amount
 * exceeds 256 bits.
 */
export function orderFromQuote(response: QuoteToSign, options: OrderFromQuoteOptions = {}): UnsignedOrder {
  assertMembers('orderFromQuote', options, ['slippageBps', 'validTo', 'receiver', 'partiallyFillable', 'appData']);
  const { quote, id = null } = Object(response) as QuoteToSign;
  if (Object(quote) !== quote) {
    const got = 'sellAmount' in Object(response) ? 'its member quote' : format(response);
    throw new TypeError(`orderFromQuote: response must be an object with quote, got ${got}`);
  }
  const slippage = BigInt(toInteger('slippageBps', options.slippageBps ?? 50, 0, 10_000));
  const sold = toAmount('sellAmount', quote.sellAmount) + toAmount('feeAmount', quote.feeAmount);
  const bought = toAmount('buyAmount', quote.buyAmount);
  const isSale = toChoice('kind', quote.kind, ['sell', 'buy']) === 'sell';
  const { receiver = quote.receiver ?? null } = options;
  const appData = options.appData ?? (quote.appData === NO_APP_DATA ? '{}' : quote.appData);
  const partnerFee = readPartnerFee(appData);
  // The fee is a share of the volume before network costs.
  const whole = isSale && sold > 0n ? ceilDiv(bought * sold, toAmount('sellAmount', quote.sellAmount) || 1n) : bought;
  const fee = ceilDiv((isSale ? whole : toAmount('sellAmount', quote.sellAmount)) * partnerFee, MILLION);
  const least = ((bought > fee ? bought - fee : 0n) * (BASIS - slippage)) / BASIS;
  return checkOrder({
    sellToken: quote.sellToken,
    buyToken: quote.buyToken,
    receiver,
    sellAmount: formatAmount('sellAmount', isSale ? sold : ceilDiv((sold + fee) * (BASIS + slippage), BASIS)),
    buyAmount: formatAmount('buyAmount', isSale && least === 0n ? 1n : isSale ? least : bought),
    validTo: options.validTo ?? quote.validTo,
    appData,
    feeAmount: '0',
    kind: quote.kind,
    partiallyFillable: options.partiallyFillable ?? quote.partiallyFillable ?? false,
    sellTokenBalance: quote.sellTokenBalance ?? 'erc20',
    buyTokenBalance: quote.buyTokenBalance ?? 'erc20',
    quoteId: id,
  });
}

const ceilDiv = (dividend: bigint, divisor: bigint) => (dividend + divisor - 1n) / divisor;

function formatAmount(name: string, amount: bigint): string {
  if (amount <= MAX_UINT256) return String(amount);
  throw new TypeError(`${name} must be below 2^256, got ${amount}`);
}

/** Returns the total of the partner fees on the volume in a document, in parts per million. A hash contains none. */
function readPartnerFee(document: string): bigint {
  let parsed: unknown;
  try {
    parsed = JSON.parse(document);
  } catch {
    return 0n;
  }
  const fee: unknown = Object(Object(Object(parsed).metadata)).partnerFee;
  return (Array.isArray(fee) ? (fee as unknown[]) : [fee]).reduce<bigint>((total, each) => {
    const { volumeBps, bps } = Object(each) as { volumeBps?: unknown; bps?: unknown };
    const share = typeof volumeBps === 'number' ? volumeBps : bps;
    if (typeof share !== 'number' || share <= 0) return total;
    if (Number.isSafeInteger(Math.round(share * 100))) return total + BigInt(Math.round(share * 100));
    throw new TypeError(`appData: a partner fee must be a number of basis points, got ${share}`);
  }, 0n);
}
