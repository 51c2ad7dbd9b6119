import { type Clock, systemClock } from '../ports/clock.ts';
import type { Limiter, RequestKind } from '../ports/limiter.ts';
import { assertKnownOptions, requireInteger } from '../validation/options.ts';

/**
 * A token bucket: it contains up to `burst` tokens and is refilled with `perSecond` tokens per second. Most requests
 * cost one token. See docs/reference/costs.md.
 */
export interface Rate {
  readonly perSecond: number;
  /** Default: five times `perSecond`. */
  readonly burst?: number;
}

/** Limits per client. */
export interface TokenBucketsOptions {
  /** Read requests per client. Default: 50 per second, burst of 250. */
  readonly reads?: Rate;
  /** Write and quote requests per client. Default: 10 per second, burst of 50. */
  readonly writes?: Rate;
  /** Maximum number of concurrent event streams per client. Default: 32. */
  readonly streams?: number;
  /** Maximum number of tracked clients; the most recent half is never dropped. Default: 50000. */
  readonly maxClients?: number;
  /** Default: the system clock. */
  readonly clock?: Clock;
}

const OPTIONS = [
  'reads',
  'writes',
  'streams',
  'maxClients',
  'clock',
] as const satisfies readonly (keyof TokenBucketsOptions)[];

/** Default burst, in seconds of the rate. */
const BURST_SECONDS = 5;

/** `retryAfter` of a rejected stream in seconds, because the end of a stream cannot be predicted. */
const STREAM_RETRY = 5;

/** Tolerance for rounding errors, so that a client that has waited for `retryAfter` is admitted. */
const ROUNDING = 1e-6;

interface Bucket {
  tokens: number;
  /** The time of `tokens`, in milliseconds since 1970. */
  at: number;
}

type Buckets = Record<RequestKind, Bucket>;

/**
 * Creates a limiter in process memory: for each client a token bucket of reads, one of writes, and the number of open
 * streams. A rejected request costs nothing, so early retries do not delay a client. A cost above the tokens of a
 * bucket is a debt, and the client waits until it is refilled.
 *
 * @throws TypeError naming the option that is unknown or invalid.
 */
export function tokenBuckets(options: TokenBucketsOptions = {}): Limiter {
  assertKnownOptions('tokenBuckets', options, OPTIONS);
  const { clock = systemClock, streams = 32, maxClients = 50_000 } = options;
  const rates = {
    read: parseRate('reads', options.reads ?? { perSecond: 50 }),
    write: parseRate('writes', options.writes ?? { perSecond: 10 }),
  };
  requireInteger('tokenBuckets: streams', streams, 0);
  requireInteger('tokenBuckets: maxClients', maxClients, 2);
  // Two generations: a request moves its client into the young one; when that is full, the old one is dropped. In a
  // single map in order of use, each eviction would iterate over the deleted entries at its front.
  const generation = Math.floor(maxClients / 2);
  let young = new Map<string, Buckets>();
  let old = new Map<string, Buckets>();
  // Separate from the buckets, because open streams must not be dropped. Their number is bounded by that of sockets.
  const open = new Map<string, number>();

  function getBuckets(client: string, now: number): Buckets {
    const known = young.get(client);
    if (known !== undefined) return known;
    const buckets = old.get(client) ?? {
      read: { tokens: rates.read.burst, at: now },
      write: { tokens: rates.write.burst, at: now },
    };
    if (young.size >= generation) {
      old = young;
      young = new Map();
    }
    young.set(client, buckets);
    return buckets;
  }

  /** Returns the bucket of a client, refilled until now. */
  function refill(client: string, kind: RequestKind): Bucket {
    const now = clock.now();
    const bucket = getBuckets(client, now)[kind];
    const { perSecond, burst } = rates[kind];
    const elapsed = Math.max(0, now - bucket.at) / 1000; // not negative if the clock was set back
    bucket.tokens = Math.min(burst, bucket.tokens + elapsed * perSecond);
    bucket.at = now;
    return bucket;
  }

  function charge(bucket: Bucket, tokens: number, burst: number): void {
    bucket.tokens = Math.min(burst, bucket.tokens - tokens);
    if (Math.abs(bucket.tokens) < ROUNDING) bucket.tokens = 0;
  }

  return {
    take(client, kind, tokens = 1) {
      const bucket = refill(client, kind);
      const { perSecond, burst } = rates[kind];
      const needed = Math.min(tokens, burst);
      if (bucket.tokens >= needed - ROUNDING) {
        charge(bucket, tokens, burst);
        return { status: 'admitted' };
      }
      const seconds = Math.ceil((needed - bucket.tokens) / perSecond - ROUNDING);
      return { status: 'rejected', retryAfter: Math.max(1, seconds) };
    },
    charge(client, kind, tokens) {
      charge(refill(client, kind), tokens, rates[kind].burst);
    },
    open(client) {
      const count = open.get(client) ?? 0;
      if (count >= streams) return { status: 'rejected', retryAfter: STREAM_RETRY };
      open.set(client, count + 1);
      let isOpen = true;
      return {
        status: 'admitted',
        release() {
          if (!isOpen) return;
          isOpen = false;
          const left = (open.get(client) ?? 1) - 1;
          if (left > 0) open.set(client, left);
          else open.delete(client);
        },
      };
    },
  };
}

function parseRate(name: 'reads' | 'writes', rate: Rate): Required<Rate> {
  assertKnownOptions(`tokenBuckets, ${name}`, rate, ['perSecond', 'burst']);
  const { perSecond, burst = Math.max(1, Math.ceil(perSecond * BURST_SECONDS)) } = rate;
  if (!Number.isFinite(perSecond) || perSecond <= 0) {
    throw createOptionError(`${name}.perSecond`, 'a number above 0', perSecond);
  }
  if (!Number.isFinite(burst) || burst < 1) throw createOptionError(`${name}.burst`, 'a number of at least 1', burst);
  return { perSecond, burst };
}

function createOptionError(name: string, expected: string, value: unknown): TypeError {
  return new TypeError(`tokenBuckets: ${name} must be ${expected}, got ${String(value)}`);
}
