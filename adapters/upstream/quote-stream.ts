import type { UpstreamQuote } from 'intentbook';
import { createAsyncQueue, formatError, onAbort, readMonotonic } from '#internal';
import { classifyError, parseError, type Verdict } from './answer.ts';
import type { Connection, Request, Session, StartedRequest } from './connection.ts';
import { finish, getFailureReason, linkSignals, report } from './connection.ts';
import { parseQuote, toQuote } from './quote.ts';

/** Maximum characters of one event. */
const MAX_EVENT = 2 ** 20;

/** Milliseconds after the timeout of the request, in which its last event arrives. */
const GRACE = 1000;

/** Requests quotes as they arrive. Ends at the timeout of the request, and when its reader stops. */
export function streamUpstreamQuotes(
  connection: Connection,
  session: Session,
  request: Request,
): AsyncIterable<UpstreamQuote> {
  const link = linkSignals(session.closed, request.signal);
  const quotes = createAsyncQueue<UpstreamQuote>(link.abort);
  void run(connection, session, { ...request, signal: link.signal }, link.abort, quotes.push)
    .catch((error: unknown) => quotes.push({ status: 'failed', reason: formatError(error) }))
    .finally(() => {
      link.unlink();
      quotes.finish();
    });
  return quotes;
}

async function run(
  connection: Connection,
  session: Session,
  request: Request & { readonly signal: AbortSignal },
  abort: () => void,
  push: (quote: UpstreamQuote) => void,
): Promise<void> {
  const { signal } = request;
  const started = await connection.start(session, request);
  if ('status' in started) return push(started);
  const { clock } = session;
  const limit = getTimeout(request.body, connection.access.timeouts.quote);
  let [isTimedOut, isCancelled] = [false, false];
  const cancelTimer = clock.after(limit, () => {
    isTimedOut = true;
    abort();
  });
  const begin = readMonotonic(clock);
  const stream = { count: 0, failure: undefined as UpstreamQuote | undefined };
  let verdict: Verdict;
  try {
    verdict = await receive(connection, session, started, signal, stream, push);
  } catch (error) {
    isCancelled = signal.aborted && !isTimedOut;
    const reason = isCancelled ? 'the call was cancelled' : `no response within ${limit} ms`;
    verdict = signal.aborted ? { outcome: 'lost', reason, isCancelled } : classifyError(error);
  } finally {
    cancelTimer();
    abort();
  }
  const result = finish(session, started.turn, verdict);
  const hasAnswer = stream.count > 0 || stream.failure !== undefined;
  if (!isCancelled) connection.note(session, 'quote', hasAnswer ? undefined : getFailureReason(verdict));
  report(session, 'quote', stream.count > 0 ? { outcome: 'ok', body: undefined } : verdict, begin);
  const isComplete = verdict === COMPLETE || isTimedOut;
  if (!isComplete || stream.count === 0) push(stream.failure ?? toQuote(result));
}

/** The verdict of a stream that has ended regularly. */
const COMPLETE: Verdict = { outcome: 'lost', reason: 'the stream ended without a quote', httpStatus: 200 };

/** Receives the quotes of a stream. Returns what its end proves. */
async function receive(
  connection: Connection,
  session: Session,
  { turn, url, init }: StartedRequest,
  signal: AbortSignal,
  stream: { count: number; failure: UpstreamQuote | undefined },
  push: (quote: UpstreamQuote) => void,
): Promise<Verdict> {
  const sentAt = session.clock.now();
  const response = await untilAborted(connection.access.fetch(url, { ...init, signal }), signal);
  if (response.status !== 200 || response.body === null || !isEventStream(response)) {
    const verdict = await untilAborted(connection.read(session, 'quote', response, sentAt), signal);
    return verdict.outcome === 'ok' ? { outcome: 'lost', reason: 'the response is no event stream' } : verdict;
  }
  // The rest of the stream is the wait of the other book for its solvers.
  turn.end('answered');
  for await (const { type, data } of readFrames(response.body, signal)) {
    const body = parseData(data);
    const error = type === 'error' ? parseError(body) : undefined;
    const quote = type === 'error' ? undefined : parseQuote(body);
    // The error of a single solver does not count beside the quote of another.
    if (error !== undefined) stream.failure = { ...error, status: 'rejected', httpStatus: getStatus(error.code) };
    if (quote === undefined) continue;
    stream.count++;
    push({ status: 'quoted', quote });
  }
  return COMPLETE;
}

/** Returns the status that the error of a stream has as a response. */
function getStatus(code: string): number {
  return code === 'NoLiquidity' ? 404 : 400;
}

/** Returns the time limit of a stream: that of the request, at most `longest`. */
function getTimeout(body: unknown, longest: number): number {
  const { timeout } = Object(body) as { readonly timeout?: unknown };
  return typeof timeout === 'number' && timeout > 0 ? Math.min(timeout + GRACE, longest) : longest;
}

function isEventStream(response: Response): boolean {
  return /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '');
}

/** Rejects when the signal is aborted, also if the request ignores it. */
function untilAborted<T>(request: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const remove = onAbort(signal, () => reject(new Error('the request was cancelled')));
    if (signal.aborted) reject(new Error('the request was cancelled'));
    request.then(resolve, reject).finally(remove);
  });
}

/** Parses an event stream (WHATWG HTML, section 9.2). */
async function* readFrames(body: ReadableStream<Uint8Array>, signal: AbortSignal) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await untilAborted(reader.read(), signal);
      if (done) return;
      text = (text + decoder.decode(value, { stream: true })).replace(/\r\n/g, '\n');
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        yield parseFrame(text.slice(0, end));
        text = text.slice(end + 2);
      }
      if (text.length > MAX_EVENT) throw new Error(`an event must have at most ${MAX_EVENT} characters`);
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}

function parseFrame(frame: string) {
  const fields = { type: '', data: '' };
  for (const line of frame.split('\n')) {
    // With `s`, because a value may contain U+2028 and U+2029, which do not end a line.
    const [, name = '', value = ''] = /^([^:]+):? ?(.*)$/s.exec(line) ?? [];
    if (name === 'event') fields.type = value;
    if (name === 'data') fields.data += value;
  }
  return fields;
}

function parseData(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}
