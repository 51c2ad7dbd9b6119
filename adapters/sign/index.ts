export {
  AFFILIATE_CODE_TYPES,
  type AffiliateCodeTypedData,
  accountDomain,
  affiliateCodeTypedData,
  SUBSCRIPTION_TYPES,
  type SubscriptionToSign,
  type SubscriptionTypedData,
  subscriptionTypedData,
} from './account.ts';
export { type AppDataOptions, appDataDocument, appDataHash, type OrderHook } from './app-data.ts';
export { CANCELLATION_TYPES, type CancellationTypedData, cancellationTypedData } from './cancellation.ts';
export { type AnyTypedData, orderUid, typedDataDigest, typedDataJson } from './digest.ts';
export { type DomainOptions, signingDomain } from './domain.ts';
export { type LimitOrderTerms, limitOrder } from './limit-order.ts';
export { ORDER_TYPES, type OrderMessage, type OrderToSign, type OrderTypedData, orderTypedData } from './order.ts';
export { type OrderFromQuoteOptions, orderFromQuote, type QuoteToSign, type UnsignedOrder } from './quote.ts';
export type { AccountDomain, SigningDomain, TypedData, TypedDataField } from './types.ts';
