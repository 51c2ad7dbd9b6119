import { describe, expect, test } from 'vitest';
import type { EventSource } from '../../../src/http/sse.ts';
import { lastEventId, resumableEventStream, streamResponse } from '../../../src/http/sse.ts';
import type { Stream } from '../../../src/streams/stream.ts';
import { manualClock } from '../../support/clock.ts';

/** Returns the iterator of a stream, its clock and the number of calls of `close`. */
function openStream(next: EventSource['next']) {
  const clock = manualClock();
  const state = { closed: 0 };
  const { body } = streamResponse({ opening: ': open\n\n', next, close: () => void state.closed++ }, clock);
  if (typeof body !== 'object' || !(Symbol.asyncIterator in body)) throw new Error('the response must be a stream');
  return { clock, state, iterator: body[Symbol.asyncIterator]() };
}

describe('event stream', () => {
  test('releases its source and its timer when the source fails', async () => {
    const { clock, state, iterator } = openStream(() => Promise.reject(new Error('the source is broken')));
    expect(await iterator.next()).toEqual({ done: false, value: ': open\n\n' });
    await expect(iterator.next()).rejects.toThrow('the source is broken');
    expect([clock.pending, state.closed]).toEqual([0, 1]);
  });

  test('starts no timer when it is read after its end', async () => {
    const { clock, state, iterator } = openStream(async () => undefined);
    await iterator.return?.();
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    expect([clock.pending, state.closed]).toEqual([0, 1]);
  });
});

describe('keep-alives', () => {
  test('add nothing to a read that lasts', async () => {
    let reactions = 0;
    let end: (event: string) => void = () => {};
    const event = new Promise<string>((resolve) => {
      end = resolve;
    });
    const then = event.then.bind(event);
    Object.assign(event, {
      // biome-ignore lint/suspicious/noThenProperty: counts the reactions
      then(...args: Parameters<typeof then>) {
        reactions++;
        return then(...args);
      },
    });
    const reads = [event, Promise.reject(new Error('the source is broken'))];
    reads[1]?.catch(() => {});
    const { clock, iterator } = openStream(() => reads.shift() ?? Promise.resolve(undefined));
    await iterator.next();
    for (let i = 0; i < 100; i++) {
      const next = iterator.next();
      clock.advance(15_000);
      expect((await next).value).toBe(': keep-alive\n\n');
    }
    expect(reactions).toBe(1);
    end('data: 1\n\n'); // between two reads of the response
    await Promise.resolve();
    expect((await iterator.next()).value).toBe('data: 1\n\n');
    await expect(iterator.next()).rejects.toThrow('the source is broken');
  });
});

describe('resumable event stream', () => {
  function openResumable(position: number | undefined) {
    const clock = manualClock();
    const stream: Stream = {
      start: 7,
      backlog: 0,
      position,
      take: () => new Promise(() => {}),
      leave() {},
      async *[Symbol.asyncIterator]() {},
    };
    const { body } = resumableEventStream(stream, clock);
    if (typeof body !== 'object' || !(Symbol.asyncIterator in body)) throw new Error('the response must be a stream');
    return { clock, iterator: body[Symbol.asyncIterator]() };
  }

  test.each([
    [41, ': keep-alive\nid: 41\n\n'],
    [undefined, ': keep-alive\n\n'],
  ])('sends a keep-alive with position %s', async (position, text) => {
    const { clock, iterator } = openResumable(position);
    expect((await iterator.next()).value).toBe(': stream\nid: 7\n\n');
    const next = iterator.next();
    clock.advance(15_000);
    expect((await next).value).toBe(text);
  });
});

describe('last event id', () => {
  const read = (query: string, header?: string) =>
    lastEventId({ method: 'GET', path: '/', query, header: () => header, body: { type: 'none' } });

  test.each([
    ['', undefined, undefined],
    ['', '7', 7],
    ['lastEventId=5', undefined, 5],
    ['lastEventId=5', '', 5],
    ['lastEventId=5', '7', 7],
    ['lastEventId=', undefined, undefined],
  ])('of "%s" and header %s is %s', (query, header, id) => {
    expect(read(query, header)).toBe(id);
  });

  test('is rejected under the name of its source', () => {
    expect(() => read('', 'x')).toThrow('Last-Event-ID');
    expect(() => read('lastEventId=x')).toThrow('lastEventId');
    expect(() => read('lastEventId=1&lastEventId=2')).toThrow('lastEventId');
  });
});
