/**
 * Limits of clients: token buckets, and the identity of a client.
 *
 * @module
 */

export { createClientResolver, createProxyTest } from './client.ts';
export type { IpRange } from './ip-address.ts';
export { formatNetwork, isInRange, isIpRange, isIpv4, parseIpAddress, parseIpRange } from './ip-address.ts';
export { parseStreamLimits, type StreamLimits } from './stream-limits.ts';
export { type Rate, type TokenBucketsOptions, tokenBuckets } from './token-buckets.ts';
