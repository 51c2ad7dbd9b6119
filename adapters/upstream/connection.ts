import type { Clock, UpstreamBlock, UpstreamCall, UpstreamClass } from 'intentbook';
import {
  DeadlineError,
  formatError,
  getEndpoint,
  keccak256,
  onAbort,
  parseHttpDate,
  readMonotonic,
  readResponseText,
  withDeadline,
} from '#internal';
import { classifyAnswer, classifyError, type Verdict } from './answer.ts';
import { type Budget, getBudget, type Reserve, type Turn } from './budget.ts';
import type { ClockMeasurement } from './clock.ts';
import { type Access, areHeaders, isHeaderValue } from './options.ts';
import type { CallEnd } from './pause.ts';

/** The book, or the estimator, that sends requests. */
export interface Session {
  readonly clock: Clock;
  /** Aborted by `close`. */
  readonly closed: AbortSignal;
  readonly reserve?: Reserve | undefined;
  readonly onCall: (call: UpstreamCall) => void;
}

/** A request in JSON. */
export interface Request {
  readonly class: UpstreamClass;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path below the base URL. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Called when the request is sent. */
  readonly onSend?: () => void;
}

/** The end of a call. */
export type CallResult =
  | Exclude<Verdict, { readonly outcome: 'blocked' }>
  | { readonly outcome: 'blocked'; readonly block: UpstreamBlock };

/** The end of a call with a response: `startedAt` is when it was sent, in milliseconds since 1970. */
export type TimedResult = CallResult & { readonly startedAt: number };

/** A request whose turn it is. */
export interface StartedRequest {
  readonly turn: Turn;
  readonly url: URL;
  readonly init: RequestInit;
}

/** Maximum size of a decoded response, in bytes. A page of 1,000 orders with large documents has 10 MB and more. */
const MAX_BYTES: Readonly<Record<UpstreamClass, number>> = { read: 2 ** 25, write: 2 ** 20, quote: 2 ** 20 };

/** Longest time of a request whose response measures a clock, in milliseconds: its date is of any time between. */
const MAX_ROUND_TRIP = 2000;

/** The access to one host. */
export type Connection = ReturnType<typeof createConnection>;

export function createConnection(access: Access) {
  const { service, host, timeouts } = access;
  let budget: Budget | undefined;
  let measured: ClockMeasurement | undefined;
  const failing: Partial<Record<UpstreamClass, { readonly since: number; readonly reason: string }>> = {};

  /** Returns the headers of a request, and the budget of its key. @throws Error without the values. */
  async function prepare({ clock }: Session, hasBody: boolean) {
    const headers = await createHeaders(access, hasBody);
    budget = getBudget(clock, `${host} ${getDigest(headers.get('x-api-key') ?? '')}`, access.limits);
    return { headers, budget };
  }

  /** Notes how a call ended. A rejection is an answer. */
  function note({ clock }: Session, name: UpstreamClass, reason: string | undefined): void {
    if (reason === undefined) delete failing[name];
    else failing[name] = { since: failing[name]?.since ?? clock.now(), reason };
  }

  /** Waits for the turn of a request. */
  async function start(session: Session, request: Request): Promise<StartedRequest | UpstreamBlock> {
    const { method, path, query = {}, body, signal } = request;
    const prepared = await prepare(session, body !== undefined).catch(formatError);
    if (typeof prepared === 'string') {
      const reason = `the request cannot be prepared: ${prepared}`;
      note(session, request.class, reason);
      return { status: 'blocked', reason, until: session.clock.now() + RETRY_KEY };
    }
    const { reserve } = session;
    const url = getEndpoint(service, path);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    // Last, since a turn must be ended.
    const turn = await prepared.budget.acquire(request.class, { maxWait: timeouts.wait, signal, reserve });
    if ('status' in turn) return turn;
    return { turn, url, init: { method, headers: prepared.headers, redirect: 'manual', ...content } };
  }

  /** Reads the response of a started request, and measures the clock of the host. */
  async function read(session: Session, name: UpstreamClass, response: Response, sentAt: number): Promise<Verdict> {
    const now = session.clock.now();
    measured = measureClock(response, sentAt, now) ?? measured;
    const text = await readResponseText(response, MAX_BYTES[name]);
    return classifyAnswer(name, { status: response.status, headers: response.headers, text }, now);
  }

  async function exchange(session: Session, request: Request, { url, init }: StartedRequest): Promise<Verdict> {
    const { clock } = session;
    const { class: name, signal } = request;
    try {
      return await withDeadline(
        clock,
        timeouts[name],
        async (aborted) => {
          const sentAt = clock.now();
          const response = await access.fetch(url, { ...init, signal: aborted });
          return await read(session, name, response, sentAt);
        },
        signal,
      );
    } catch (error) {
      if (signal?.aborted) return { outcome: 'lost', reason: 'the call was cancelled', isCancelled: true };
      return error instanceof DeadlineError ? { outcome: 'lost', reason: error.message } : classifyError(error);
    }
  }

  return {
    host,
    access,
    /** The newest measurement of the clock of the host: another object for each. */
    get measured(): ClockMeasurement | undefined {
      return measured;
    },
    failing,
    note,
    /** Returns why a class is paused. */
    getBlock: (name: UpstreamClass): UpstreamBlock | undefined => budget?.getBlock(name),
    start,
    read,
    /** Sends a request, and reads its response to the end. */
    async send(session: Session, request: Request): Promise<TimedResult> {
      const { signal, unlink } = linkSignals(session.closed, request.signal);
      try {
        const started = await start(session, { ...request, signal });
        const startedAt = session.clock.now();
        if ('status' in started) return { outcome: 'blocked', block: started, startedAt };
        request.onSend?.();
        const begin = readMonotonic(session.clock);
        const verdict = await exchange(session, { ...request, signal }, started);
        report(session, request.class, verdict, begin);
        if (request.signal?.aborted !== true && !session.closed.aborted)
          note(session, request.class, getFailureReason(verdict));
        return { ...finish(session, started.turn, verdict), startedAt };
      } finally {
        unlink();
      }
    },
  };
}

/** Creates the headers of a request. @throws Error without the values. */
async function createHeaders({ service, apiKey, headers: given, userAgent }: Access, hasBody: boolean) {
  const key = typeof apiKey === 'function' ? await apiKey() : apiKey;
  const own = typeof given === 'function' ? await given() : given;
  if (key !== undefined && !isHeaderValue(key)) throw new Error('the API key is not the value of a header');
  if (!areHeaders(own)) throw new Error('the headers are not valid');
  const headers = new Headers(service.authorization);
  for (const [name, value] of Object.entries(own)) headers.set(name, value);
  if (key !== undefined) headers.set('x-api-key', key.trim());
  headers.set('accept', 'application/json');
  headers.set('user-agent', userAgent);
  if (hasBody) headers.set('content-type', 'application/json');
  return headers;
}

/** Measures the clock of a host by the date of its response. `undefined` if the date is not exact. */
function measureClock({ headers }: Response, sentAt: number, now: number): ClockMeasurement | undefined {
  const date = parseHttpDate(headers.get('date') ?? '');
  // The response of a cache has the date at which it was stored. A date has whole seconds.
  const isExact = !Number.isNaN(date) && !headers.has('age') && now - sentAt <= MAX_ROUND_TRIP;
  return isExact ? { skew: Math.round(date + 500 - (sentAt + now) / 2) } : undefined;
}

/** A signal that follows others until `unlink`. */
export interface LinkedSignals {
  readonly signal: AbortSignal;
  abort(): void;
  unlink(): void;
}

/** Creates a signal that is aborted with one of others, until `unlink`. `AbortSignal.any` would never be released. */
export function linkSignals(...signals: readonly (AbortSignal | undefined)[]): LinkedSignals {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const removers = signals.map((each) => (each === undefined ? undefined : onAbort(each, abort)));
  if (signals.some((each) => each?.aborted)) abort();
  return {
    signal: controller.signal,
    abort,
    unlink(): void {
      for (const remove of removers) remove?.();
    },
  };
}

/** Milliseconds after which a key that cannot be read is tried again. */
const RETRY_KEY = 5000;

/** Ends a turn. Returns the result of its call. */
export function finish({ clock }: Session, turn: Turn, verdict: Verdict): CallResult {
  const block = turn.end(getEnd(verdict));
  if (verdict.outcome !== 'blocked') return verdict;
  const { reason } = verdict.pause;
  return { outcome: 'blocked', block: block ?? { status: 'blocked', reason, until: clock.now() } };
}

/** Returns what a verdict means for the pause of its class. */
function getEnd(verdict: Verdict): CallEnd {
  if (verdict.outcome === 'blocked') return verdict.pause;
  if (verdict.outcome !== 'lost') return 'answered';
  if (verdict.isCancelled) return 'cancelled';
  // A 500 is an answer: the class is not paused because of one order.
  return verdict.pause ?? (verdict.httpStatus === undefined ? 'lost' : 'answered');
}

/** Returns why there was no usable answer; `undefined` if there was one. A class may fail after its pause. */
export function getFailureReason(verdict: Verdict): string | undefined {
  if (verdict.outcome === 'blocked') return verdict.pause.reason;
  return verdict.outcome === 'lost' ? verdict.reason : undefined;
}

/** Reports a request for metrics. */
export function report(session: Session, name: UpstreamClass, { outcome }: Verdict, begin: number): void {
  const lost = name === 'write' ? 'unknown' : 'failed';
  const ms = readMonotonic(session.clock) - begin;
  session.onCall({ class: name, outcome: outcome === 'lost' ? lost : outcome, ms });
}

/** Identifies a key without containing it. */
function getDigest(key: string): string {
  if (key === '') return 'public';
  const hash = keccak256(new TextEncoder().encode(key));
  return [...hash.subarray(0, 6)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
