import { OrderBookError } from '../errors.ts';
import type { Admission, Limiter, StreamAdmission } from '../ports/limiter.ts';
import type { ApiRequest, ApiResponse } from './message.ts';
import type { RateLimitGuard } from './rate-limit.ts';

/** Creates the guard of an interface that has a limiter. */
export function createLimiterGuard(
  limiter: Limiter,
  getClient: (request: ApiRequest) => string,
  onFailure: (failure: unknown) => void,
): RateLimitGuard {
  return async (request, { kind, tokens, rowsPerToken, stream }, respond) => {
    if (kind === 'free') return respond();
    const client = getClient(request);
    requireAdmitted(await failOpen(() => limiter.take(client, kind, tokens), ADMITTED, onFailure), 'requests');
    const response = stream ? await openStream(limiter, client) : await respond();
    if (rowsPerToken === undefined) return response;
    let charged = tokens;
    const chargeRows = async () => {
      const extra = Math.ceil((response.meter?.rows ?? 0) / rowsPerToken) - charged;
      if (extra <= 0) return;
      charged += extra;
      await failOpen(() => limiter.charge?.(client, kind, extra), undefined, onFailure);
    };
    await chargeRows();
    return isStream(response.body)
      ? { ...response, body: onStreamEnd(response.body, () => void chargeRows()) }
      : response;

    async function openStream(limits: Limiter, by: string): Promise<ApiResponse> {
      const admission = await failOpen(() => limits.open(by), STREAM_ADMITTED, onFailure);
      requireAdmitted(admission, 'streams');
      let isOpen = admission.status === 'admitted';
      const release = () => {
        if (!isOpen || admission.status !== 'admitted') return;
        isOpen = false;
        void failOpen(() => admission.release(), undefined, onFailure);
      };
      return releaseAtEnd(request, release, respond);
    }
  };
}

function isStream(body: ApiResponse['body']): body is AsyncIterable<string> {
  return typeof body === 'object' && Symbol.asyncIterator in body;
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
  if (!isStream(body)) {
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
