/**
 * Limits of clients: token buckets, and the identity of a client.
 *
 * @module
 */

export type { IpRange } from './client.ts';
export {
  createClientResolver,
  createProxyTest,
  formatNetwork,
  isInRange,
  isIpRange,
  isIpv4,
  parseIpAddress,
  parseIpRange,
  UNKNOWN_CLIENT,
} from './client.ts';
export { parseStreamLimits, type StreamLimits } from './stream-limits.ts';
export { type Rate, type TokenBucketsOptions, tokenBuckets } from './token-buckets.ts';
