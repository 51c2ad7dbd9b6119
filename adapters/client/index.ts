export type {
  AccountClient,
  AccountClientOptions,
  AccountWallet,
  AffiliateCodeView,
  NotificationStreamOptions,
  PageQuery,
} from './account.ts';
export { createClient, type OrderBookClient } from './client.ts';
export { type ClientOptions, RequestError } from './http.ts';
export type { Mirror, MirrorFilter, MirrorOptions } from './mirror.ts';
