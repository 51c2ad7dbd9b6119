import { OrderBookError } from '../errors.ts';
import { createClientResolver } from '../limits/client.ts';
import type { Admission, Limiter, RequestKind, StreamAdmission } from '../ports/limiter.ts';
import type { ApiRequest, ApiResponse } from './message.ts';

/** How often clients may ask. */
export interface RateLimitOptions {
  /** Who decides. Default: nobody, and every request passes. The same one may stand before several interfaces. */
  readonly limiter?: Limiter;
  /**
   * Addresses and ranges of proxies whose `X-Forwarded-For` is believed: `127.0.0.1`, `10.0.0.0/8`, `fd00::/8`. Default:
   * none, a client is the other end of its socket.
   */
  readonly trustedProxies?: readonly string[];
}

/** What a request costs, `free` for one that must always be answered. */
export interface RequestCost {
  readonly kind: RequestKind | 'free';
  /** Whether the answer is a stream of events, of which a client may have only so many at once. */
  readonly stream: boolean;
}

/**
 * Stands before an interface: lets a request through to `answer`, or throws `RateLimited` with the seconds to wait in
 * `data.retryAfter`. A stream counts until it has ended or its client has gone.
 */
export type RateLimitGuard = (
  request: ApiRequest,
  toll: RequestCost,
  answer: () => Promise<ApiResponse>,
) => Promise<ApiResponse>;

/** @throws TypeError naming a trusted proxy that is no address. */
export function createRateLimitGuard(
  { limiter, trustedProxies = [] }: RateLimitOptions,
  onFailure: (failure: unknown) => void,
): RateLimitGuard {
  const getClient = createClientResolver(trustedProxies);
  if (limiter === undefined) return (_request, _toll, answer) => answer();

  return async (request, { kind, stream }, answer) => {
    if (kind === 'free') return answer();
    const client = getClient(request);
    requireAdmitted(await asked(() => limiter.take(client, kind), ADMITTED, onFailure), 'requests');
    if (!stream) return answer();
    const admission = await asked(() => limiter.open(client), STREAM_ADMITTED, onFailure);
    requireAdmitted(admission, 'streams');
    const release = admission.status === 'admitted' ? admission.release : () => {};
    return held(request, release, answer);
  };
}

const ADMITTED: Admission = { status: 'admitted' };
const STREAM_ADMITTED: StreamAdmission = { status: 'admitted', release() {} };

/** A limiter that is out of order lets everybody pass. */
async function asked<T>(question: () => T | Promise<T>, unknown: T, onFailure: (failure: unknown) => void): Promise<T> {
  try {
    return await question();
  } catch (failure) {
    onFailure(failure);
    return unknown;
  }
}

function requireAdmitted(admission: Admission | StreamAdmission, what: 'requests' | 'streams'): void {
  if (admission.status === 'admitted') return;
  const retryAfter = Math.max(1, Math.ceil(admission.retryAfter ?? 1));
  const description = what === 'requests' ? 'too many requests' : 'too many streams of events at once';
  throw new OrderBookError('RateLimited', `${description}; try again in ${retryAfter} s`, { retryAfter });
}

/** Answers, and gives the place back as soon as there is no stream any more. */
async function held(
  { signal }: ApiRequest,
  release: () => void,
  answer: () => Promise<ApiResponse>,
): Promise<ApiResponse> {
  // A mount that is left before it has begun to read may never end the stream.
  signal?.addEventListener('abort', release, { once: true });
  const done = () => {
    signal?.removeEventListener('abort', release);
    release();
  };
  let response: ApiResponse;
  try {
    response = await answer();
  } catch (error) {
    done();
    throw error;
  }
  if (signal?.aborted) release();
  const { body } = response;
  if (typeof body !== 'object' || !(Symbol.asyncIterator in body)) {
    done();
    return response;
  }
  return { ...response, body: watched(body, done) };
}

/** The same stream, telling of its end. */
function watched(stream: AsyncIterable<string>, onEnd: () => void): AsyncIterable<string> {
  const source = stream[Symbol.asyncIterator]();
  const iterator: AsyncIterator<string> = {
    async next() {
      try {
        const result = await source.next();
        if (result.done) onEnd();
        return result;
      } catch (error) {
        onEnd();
        throw error;
      }
    },
    async return() {
      onEnd();
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
