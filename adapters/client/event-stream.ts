import { type ClientOptions, RequestError, readRequestError, type Sender, TooLargeError } from './http.ts';

/** An event of a stream. The opening of a connection is an event without a type. */
export interface ServerEvent {
  readonly type: string;
  readonly id: number | undefined;
  readonly data: string;
}

const FIRST_DELAY = 250;

/** Parses the blocks of an event stream (WHATWG HTML, section 9.2). */
async function* parseEvents(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBytes: number,
  onData: () => void,
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let text = '';
  let endsWithReturn = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onData();
    const chunk = decoder.decode(value, { stream: true });
    // A proxy may end lines with CR or CRLF, and a chunk may end between the two.
    text += (endsWithReturn ? chunk.replace(/^\n/, '') : chunk).replace(/\r\n?/g, '\n');
    if (chunk !== '') endsWithReturn = chunk.endsWith('\r');
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      yield parseBlock(text.slice(0, end));
      text = text.slice(end + 2);
    }
    if (text.length > maxBytes) throw new TooLargeError(maxBytes);
  }
}

function parseBlock(block: string): ServerEvent {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    // With `s`, because a value may contain U+2028 and U+2029, which do not end a line.
    const [, name = '', value = ''] = /^([^:]+):? ?(.*)$/s.exec(line) ?? [];
    const data = name === 'data' ? fields.get(name) : undefined;
    fields.set(name, data === undefined ? value : `${data}\n${value}`);
  }
  const id = fields.get('id') ?? '';
  return {
    type: fields.get('event') ?? '',
    // Another text, such as the empty one that a proxy may send, is no position.
    id: /^\d{1,15}$/.test(id) ? Number(id) : undefined,
    data: fields.get('data') ?? '',
  };
}

/**
 * Reads a stream and opens it again after the last id when the connection ends, with a delay that grows. Ends when the
 * signal is aborted.
 *
 * @param lastId - The event after which the stream begins. Default: now.
 * @param onState - Called when the connection is established or lost.
 * @throws RequestError for a redirection, for a status from 400 to 499, except 408 and 429, and for a response
 * without a stream; TooLargeError.
 */
export async function* readEvents(
  sender: Sender,
  path: string,
  { maxDelay = 15_000, silence = 45_000 }: ClientOptions,
  signal: AbortSignal,
  { lastId: firstId, onState }: { lastId?: number | undefined; onState?: (connected: boolean) => void },
): AsyncGenerator<ServerEvent> {
  let lastId = firstId;
  let delay = FIRST_DELAY;
  while (!signal.aborted) {
    const connection = new AbortController();
    const abort = () => connection.abort();
    signal.addEventListener('abort', abort, { once: true });
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failure: unknown;
    const start = performance.now();
    // The server sends a comment at least every 15 seconds. A silent connection is broken.
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(abort, silence);
    };
    try {
      alive();
      const headers = lastId === undefined ? {} : { 'last-event-id': String(lastId) };
      const response = await sender.open(path, { headers, signal: connection.signal });
      if (!response.ok) throw await readRequestError(response, sender.maxBytes);
      const reader = response.body?.getReader?.();
      if (!reader) throw new RequestError(response.status, { description: 'the response has no stream' });
      onState?.(true);
      for await (const event of parseEvents(reader, sender.maxBytes, alive)) {
        lastId = event.id ?? lastId;
        // The opening alone does not show that the server works: it may close each connection.
        if (event.type !== '') delay = FIRST_DELAY;
        yield event;
      }
    } catch (error) {
      if (isFinal(error)) throw error;
      failure = error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      connection.abort();
    }
    if (signal.aborted) return;
    onState?.(false);
    if (performance.now() - start > maxDelay) delay = FIRST_DELAY;
    // Clients that lost their server at the same time do not return at the same time.
    await pause(getDelay(failure, Math.min(delay, maxDelay) * (0.5 + Math.random() / 2)), signal);
    delay *= 2;
  }
}

/** Returns whether a request that failed with this error always fails. */
export function isFinal(error: unknown): boolean {
  return error instanceof TooLargeError || (error instanceof RequestError && !error.retryable);
}

/** Returns the delay before the next request, in milliseconds: at least that of the server. */
export function getDelay(failure: unknown, delay: number): number {
  return Math.max(delay, failure instanceof RequestError ? (failure.retryAfter ?? 0) : 0);
}

/** Waits, or until the signal is aborted. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });
}
