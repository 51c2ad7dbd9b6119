export { type AppDataOptions, appDataDocument, appDataHash, type OrderHook } from './app-data.ts';
export { CANCELLATION_TYPES, type CancellationTypedData, cancellationTypedData } from './cancellation.ts';
export { orderUid, typedDataDigest, typedDataJson } from './digest.ts';
export { type DomainOptions, signingDomain } from './domain.ts';
export { type LimitOrderTerms, limitOrder } from './limit-order.ts';
export { ORDER_TYPES, type OrderMessage, type OrderToSign, type OrderTypedData, orderTypedData } from './order.ts';
export { type OrderFromQuoteOptions, orderFromQuote, type QuoteToSign, type UnsignedOrder } from './quote.ts';
export type { SigningDomain, TypedData, TypedDataField } from './types.ts';
