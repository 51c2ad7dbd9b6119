import { assertMembers, toAmount } from './checks.ts';
import { checkOrder, type OrderToSign } from './order.ts';
import type { UnsignedOrder } from './quote.ts';

/** Terms of an order. Members with a default may be absent. */
export interface LimitOrderTerms extends Omit<OrderToSign, 'kind' | 'appData' | 'feeAmount'> {
  /** Side whose amount is exact. Default: `sell`. */
  readonly kind?: 'sell' | 'buy';
  /** The app-data document, or its hash of 32 bytes. Default: `{}`. */
  readonly appData?: string;
}

/**
 * Creates an order from its terms, with the default of every other member.
 *
 * ```ts
 * const order = limitOrder({ sellToken, buyToken, sellAmount: 10n ** 18n, buyAmount: 2500n * 10n ** 6n, validTo });
 * const signature = await account.signTypedData(orderTypedData(domain, order));
 * await book.orders.submit({ ...order, from: account.address, signature, signingScheme: 'eip712' });
 * ```
 *
 * @throws TypeError naming the member that is unknown or malformed.
 */
export function limitOrder(terms: LimitOrderTerms): UnsignedOrder {
  assertMembers('limitOrder', terms, MEMBERS);
  return checkOrder({
    sellToken: terms.sellToken,
    buyToken: terms.buyToken,
    receiver: terms.receiver ?? null,
    sellAmount: String(toAmount('sellAmount', terms.sellAmount)),
    buyAmount: String(toAmount('buyAmount', terms.buyAmount)),
    validTo: terms.validTo,
    appData: terms.appData ?? '{}',
    feeAmount: '0',
    kind: terms.kind ?? 'sell',
    partiallyFillable: terms.partiallyFillable ?? false,
    sellTokenBalance: terms.sellTokenBalance ?? 'erc20',
    buyTokenBalance: terms.buyTokenBalance ?? 'erc20',
    quoteId: null,
  });
}

const MEMBERS = [
  'sellToken',
  'buyToken',
  'sellAmount',
  'buyAmount',
  'validTo',
  'receiver',
  'kind',
  'appData',
  'partiallyFillable',
  'sellTokenBalance',
  'buyTokenBalance',
] as const satisfies readonly (keyof LimitOrderTerms)[];
