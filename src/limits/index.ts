/**
 * Limits of clients: token buckets, and the identity of a client.
 *
 * @module
 */

export { createClientResolver, createProxyTest } from './client.ts';
export type { IpRange } from './ip-address.ts';
export { formatNetwork, isInRange, isIpRange, isIpv4, parseIpAddress, parseIpRange } from './ip-address.ts';
export type { StreamLimits } from './stream-limits.ts';
export { parseStreamLimits } from './stream-limits.ts';
export type { Rate, TokenBucketsOptions } from './token-buckets.ts';
export { tokenBuckets } from './token-buckets.ts';
