import { OrderBookError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Stream, StreamEvent, StreamItem } from '../streams/broadcaster.ts';
import type { ApiRequest, ApiResponse } from './message.ts';
import { EVENT_STREAM_HEADERS } from './sse.ts';

/** Milliseconds after which a silent stream says something, so that nobody on the way takes it for dead (decision 5.6). */
const KEEP_ALIVE = 15_000;

/**
 * Reads where a client wants to go on: what its `EventSource` sends by itself when it comes back.
 *
 * @throws OrderBookError `InvalidParameter` when it is no id of ours.
 */
export function lastEventId(request: ApiRequest): number | undefined {
  const text = request.header('last-event-id');
  if (text === undefined || text === '') return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new OrderBookError('InvalidParameter', 'Last-Event-ID: must be an id that this stream has sent', {
    parameter: 'Last-Event-ID',
  });
}

/**
 * Answers with a stream whose events can be resumed from (decision 5.6). It begins with the place it stands at, so that
 * a client that is cut off before its first event misses nothing either.
 */
export function durableEventStream(stream: Stream, clock: Clock): ApiResponse {
  let begun = false;
  let waiting: ((silent: boolean) => void) | undefined;
  let taking: Promise<readonly StreamEvent[]> | undefined;
  let cancel = () => {};

  function tick(): void {
    cancel = clock.after(KEEP_ALIVE, () => {
      waiting?.(true);
      tick();
    });
  }

  function leave(): void {
    cancel();
    stream.leave();
  }

  const text: AsyncIterator<string> = {
    async next() {
      if (!begun) {
        begun = true;
        tick();
        return { done: false, value: `: stream\nid: ${stream.start}\n\n` };
      }
      taking ??= stream.take();
      const mine = taking;
      const silent = await new Promise<boolean>((resolve, reject) => {
        waiting = resolve;
        mine.then(() => resolve(false), reject);
      });
      waiting = undefined;
      if (silent) return { done: false, value: ': keep-alive\n\n' };
      taking = undefined;
      const events = await mine;
      if (events.length > 0) return { done: false, value: events.map(render).join('') };
      leave();
      return { done: true, value: undefined };
    },
    async return() {
      leave();
      return { done: true, value: undefined };
    },
  };
  return { status: 200, headers: EVENT_STREAM_HEADERS, body: { [Symbol.asyncIterator]: () => text } };
}

/** An item in the stream's words, made once for all who hear it. */
const rendered = new WeakMap<StreamItem, string>();

function render(event: StreamEvent): string {
  // Without an id: who comes back right after a gap is told what it has missed.
  if (event.type === 'gap') return `event: gap\ndata: ${JSON.stringify({ from: event.from, to: event.to })}\n\n`;
  let text = rendered.get(event);
  if (text === undefined) {
    text = `id: ${event.id}\nevent: ${event.event}\ndata: ${event.data}\n\n`;
    rendered.set(event, text);
  }
  return text;
}
