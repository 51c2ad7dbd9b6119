import { OrderBookError } from '../errors.ts';
import { createClientResolver } from '../limits/client.ts';
import type { Admission, Limiter, RequestKind, StreamAdmission } from '../ports/limiter.ts';
import type { ApiRequest, ApiResponse } from './message.ts';

/** Options of the rate limit. */
export interface RateLimitOptions {
  /** The limiter. Several interfaces may share one. Default: no limit. */
  readonly limiter?: Limiter;
  /**
   * Addresses and ranges of proxies whose `X-Forwarded-For` is trusted: `127.0.0.1`, `10.0.0.0/8`, `fd00::/8`. Default:
   * none; the client is the remote address of the socket.
   */
  readonly trustedProxies?: readonly string[];
}

/** What a request is charged as. `free`: not limited. */
export interface RequestCost {
  readonly kind: RequestKind | 'free';
  /** Whether the response is an event stream. The number of open streams per client is limited. */
  readonly stream: boolean;
}

/**
 * Admits a request and calls `respond`, or throws `RateLimited` with seconds in `data.retryAfter`. A stream counts
 * until it ends or its client disconnects.
 */
export type RateLimitGuard = (
  request: ApiRequest,
  cost: RequestCost,
  respond: () => Promise<ApiResponse>,
) => Promise<ApiResponse>;

/** Creates the guard of an interface. @throws TypeError naming a trusted proxy that is not an address or a range. */
export function createRateLimitGuard(
  { limiter, trustedProxies = [] }: RateLimitOptions,
  onFailure: (failure: unknown) => void,
): RateLimitGuard {
  const getClient = createClientResolver(trustedProxies);
  if (limiter === undefined) return (_request, _cost, respond) => respond();

  return async (request, { kind, stream }, respond) => {
    if (kind === 'free') return respond();
    const client = getClient(request);
    requireAdmitted(await failOpen(() => limiter.take(client, kind), ADMITTED, onFailure), 'requests');
    if (!stream) return respond();
    const admission = await failOpen(() => limiter.open(client), STREAM_ADMITTED, onFailure);
    requireAdmitted(admission, 'streams');
    const release = admission.status === 'admitted' ? admission.release : () => {};
    return releaseAtEnd(request, release, respond);
  };
}

const ADMITTED: Admission = { status: 'admitted' };
const STREAM_ADMITTED: StreamAdmission = { status: 'admitted', release() {} };

/** Admits the request if the limiter fails. */
async function failOpen<T>(call: () => T | Promise<T>, admitted: T, onFailure: (failure: unknown) => void): Promise<T> {
  try {
    return await call();
  } catch (failure) {
    onFailure(failure);
    return admitted;
  }
}

function requireAdmitted(admission: Admission | StreamAdmission, subject: 'requests' | 'streams'): void {
  if (admission.status === 'admitted') return;
  const retryAfter = Math.max(1, Math.ceil(admission.retryAfter ?? 1));
  const description = subject === 'requests' ? 'too many requests' : 'too many streams of events at once';
  throw new OrderBookError('RateLimited', `${description}; try again in ${retryAfter} s`, { retryAfter });
}

/** Responds, and releases the stream's slot when the stream ends. */
async function releaseAtEnd(
  { signal }: ApiRequest,
  release: () => void,
  respond: () => Promise<ApiResponse>,
): Promise<ApiResponse> {
  // A mount may never read, and so never end, the stream of a client that disconnects early.
  signal?.addEventListener('abort', release, { once: true });
  const done = () => {
    signal?.removeEventListener('abort', release);
    release();
  };
  let response: ApiResponse;
  try {
    response = await respond();
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
  return { ...response, body: onStreamEnd(body, done) };
}

/** Wraps a stream and calls `onEnd` when it ends. */
function onStreamEnd(stream: AsyncIterable<string>, onEnd: () => void): AsyncIterable<string> {
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
