import { assertNotAborted } from '../concurrency/abort.ts';
import { createConcurrencyLimit, createThrottle } from '../concurrency/limit.ts';
import { OrderBookError } from '../errors.ts';
import type { Admission, Limiter, StreamAdmission } from '../ports/limiter.ts';
import type { ApiRequest, ApiResponse } from './message.ts';
import type { RateLimitGuard, RequestCost, RequestMeter } from './rate-limit.ts';

/** Reads of the store of one client that run at the same time. A pool of connections has ten by default. */
const STORE_READS_PER_CLIENT = 8;

/** Long reads of one client that run at the same time. */
const LONG_READS_PER_CLIENT = 2;

/** Requests that begin in one tick of the event loop. Their first steps take some milliseconds together at most. */
const REQUESTS_PER_TICK = 4;

/** The queues of all interfaces that share a limiter. */
const queuesOf = new WeakMap<Limiter, ReturnType<typeof createQueues>>();

function createQueues() {
  return {
    turns: createThrottle(REQUESTS_PER_TICK),
    storeReads: createConcurrencyLimit(Number.POSITIVE_INFINITY, STORE_READS_PER_CLIENT),
    longReads: createConcurrencyLimit(Number.POSITIVE_INFINITY, LONG_READS_PER_CLIENT),
  };
}

export function createLimiterGuard(
  limiter: Limiter,
  getClient: (request: ApiRequest) => string,
  onFailure: (failure: unknown) => void,
): RateLimitGuard {
  const { turns, storeReads, longReads } = queuesOf.get(limiter) ?? createQueues();
  queuesOf.set(limiter, { turns, storeReads, longReads });

  return async (request, cost, respond) => {
    const { kind, tokens, stream } = cost;
    const meter = { rows: 0, bytes: 0 };
    if (kind === 'free') return respond(meter);
    const client = getClient(request);
    const take = async () => {
      requireAdmitted(await failOpen(() => limiter.take(client, kind, tokens), ADMITTED, onFailure), 'requests');
    };
    const charge = (rest: number) => failOpen(() => limiter.charge?.(client, kind, rest), undefined, onFailure);
    await take();
    let charged = tokens;
    // Only admitted requests wait, so their number is bounded.
    const waiting = turns.waiting;
    const turn = turns.acquire(() => client);
    let waited = turns.waiting > waiting;
    await turn;
    assertNotAborted(request);
    /** Charges what the work so far costs beyond the tokens that were taken. At its end, returns those left over. */
    const settle = async (isAtEnd: boolean) => {
      const rest = getCost(cost, meter) - charged;
      if (isAtEnd ? rest === 0 : rest <= 0) return;
      charged += rest;
      await charge(rest);
    };
    const run = async () => {
      const response = await (stream ? openStream() : respond(meter));
      if (stream || !isStream(response.body)) await settle(true);
      return response;
    };
    let response: ApiResponse;
    try {
      if (cost.rowsPerToken !== undefined && tokens > 1) response = await runInTurn();
      else if (cost.isStoreRead) response = await storeReads.run(run, client);
      else response = await run();
    } catch (error) {
      if (charged > 0) await settle(true);
      throw error;
    }
    const { body } = response;
    if (cost.rowsPerToken === undefined || !isStream(body)) return response;
    // The rows of a long stream are charged while it is sent, so that no debt of hours is left at its end. The parts of
    // a file take turns like other long reads, also if many files were admitted before the first of them was charged.
    const charging = onStream(body, {
      ...(stream ? {} : { run: (read) => longReads.run(read, client) }),
      onChunk: () => void settle(false),
      onEnd: () => void settle(!stream),
    });
    return { ...response, body: charging };

    /** Runs a long read. Those before it may have left a debt, so one that waited is admitted again. */
    function runInTurn(): Promise<ApiResponse> {
      const response = longReads.run(async () => {
        if (waited && limiter.charge !== undefined) {
          await charge(-tokens);
          charged = 0;
          await take();
          charged = tokens;
        }
        return run();
      }, client);
      waited = true; // a job that does not wait has begun
      return response;
    }

    async function openStream(): Promise<ApiResponse> {
      const admission = await failOpen(() => limiter.open(client), STREAM_ADMITTED, onFailure);
      requireAdmitted(admission, 'streams');
      let isOpen = admission.status === 'admitted';
      const release = () => {
        if (!isOpen || admission.status !== 'admitted') return;
        isOpen = false;
        void failOpen(() => admission.release(), undefined, onFailure);
      };
      return releaseAtEnd(request, release, () => respond(meter));
    }
  };
}

/** Returns the tokens that the work of a request has cost so far. */
function getCost(
  { tokens, rowsPerToken, bytesPerToken, bodyTokens = 0 }: RequestCost,
  { rows, bytes }: RequestMeter,
): number {
  const ofBody = bytesPerToken === undefined ? 0 : Math.max(bodyTokens, Math.floor(bytes / bytesPerToken));
  return ofBody + (rowsPerToken === undefined ? tokens - bodyTokens : Math.max(1, Math.ceil(rows / rowsPerToken)));
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
  return { ...response, body: onStream(body, { onEnd: done }) };
}

interface StreamHooks {
  /** Runs the work for a chunk. Default: at once. */
  run?<T>(read: () => Promise<T>): Promise<T>;
  onChunk?(): void;
  onEnd(): void;
}

/** Wraps a stream and calls hooks after each chunk and when it ends. */
function onStream(stream: AsyncIterable<string>, { run, onChunk, onEnd }: StreamHooks): AsyncIterable<string> {
  const source = stream[Symbol.asyncIterator]();
  const iterator: AsyncIterator<string> = {
    async next() {
      try {
        const result = await (run === undefined ? source.next() : run(() => source.next()));
        if (result.done) onEnd();
        else onChunk?.();
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
