import type { Clock } from '../ports/clock.ts';
import { systemClock } from '../ports/clock.ts';
import type { Limiter, RequestKind } from '../ports/limiter.ts';
import { assertKnownOptions } from '../validation/options.ts';

/** A token bucket: it holds `burst` requests, and `perSecond` of them come back each second. */
export interface Rate {
  readonly perSecond: number;
  /** Default: five seconds' worth. */
  readonly burst?: number;
}

/** What one client may ask for. What is absent has the server's own defaults. */
export interface TokenBucketsOptions {
  /** Requests that read, of one client. Default 50 a second, 250 at once. */
  readonly reads?: Rate;
  /** Requests that write or have quotes made, of one client. Default 10 a second, 50 at once. */
  readonly writes?: Rate;
  /** Streams of events that one client may have at once. Default 32. */
  readonly streams?: number;
  /** Clients that are remembered at most; the half of them that has asked last is never forgotten. Default 50000. */
  readonly maxClients?: number;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

const OPTIONS = [
  'reads',
  'writes',
  'streams',
  'maxClients',
  'clock',
] as const satisfies readonly (keyof TokenBucketsOptions)[];

/** How much a bucket holds unless told, in seconds of its rate. */
const BURST_SECONDS = 5;

/** How long a client is told to wait whose streams are all taken, in seconds: nobody knows when one ends. */
const STREAM_RETRY = 5;

/** What adding up fractions may be off by: whoever has waited as long as told must not be sent away again. */
const ROUNDING = 1e-6;

interface Bucket {
  tokens: number;
  /** When `tokens` was true, milliseconds since 1970. */
  at: number;
}

type Buckets = Record<RequestKind, Bucket>;

/**
 * A limiter in this process's memory: for each client a token bucket of reads and one of writes, and a count of its
 * open streams. A rejected request costs nothing, so that who keeps asking is served as often as who waits.
 *
 * @throws TypeError naming the option that is unknown or malformed.
 */
export function tokenBuckets(options: TokenBucketsOptions = {}): Limiter {
  assertKnownOptions('tokenBuckets', options, OPTIONS);
  const { clock = systemClock, streams = 32, maxClients = 50_000 } = options;
  const rates = {
    read: parseRate('reads', options.reads ?? { perSecond: 50 }),
    write: parseRate('writes', options.writes ?? { perSecond: 10 }),
  };
  if (!Number.isSafeInteger(streams) || streams < 0) throw malformed('streams', 'a whole number from 0 up');
  if (!Number.isSafeInteger(maxClients) || maxClients < 2) throw malformed('maxClients', 'a whole number from 2 up');
  // Two generations: who asks again moves into the younger one, and when that is full the older one is dropped. A single
  // map in the order of requests would be walked from its front each time, over all that has been taken out of it.
  const generation = Math.floor(maxClients / 2);
  let young = new Map<string, Buckets>();
  let old = new Map<string, Buckets>();
  // Apart from the buckets: those may be forgotten, an open stream may not. There are no more of these than sockets.
  const open = new Map<string, number>();

  function bucketsOf(client: string, now: number): Buckets {
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

  return {
    take(client, kind) {
      const now = clock.now();
      const bucket = bucketsOf(client, now)[kind];
      const { perSecond, burst } = rates[kind];
      const elapsed = Math.max(0, now - bucket.at) / 1000; // a clock may step back
      bucket.tokens = Math.min(burst, bucket.tokens + elapsed * perSecond);
      bucket.at = now;
      if (bucket.tokens >= 1 - ROUNDING) {
        bucket.tokens = Math.max(0, bucket.tokens - 1);
        return { status: 'admitted' };
      }
      return { status: 'rejected', retryAfter: Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond)) };
    },
    open(client) {
      const count = open.get(client) ?? 0;
      if (count >= streams) return { status: 'rejected', retryAfter: STREAM_RETRY };
      open.set(client, count + 1);
      let held = true;
      return {
        status: 'admitted',
        release() {
          if (!held) return;
          held = false;
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
  if (!Number.isFinite(perSecond) || perSecond <= 0) throw malformed(`${name}.perSecond`, 'a number above 0');
  if (!Number.isFinite(burst) || burst < 1) throw malformed(`${name}.burst`, 'a number from 1 up');
  return { perSecond, burst };
}

function malformed(name: string, expected: string): TypeError {
  return new TypeError(`tokenBuckets: ${name} must be ${expected}`);
}
