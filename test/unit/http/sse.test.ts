import { describe, expect, test } from 'vitest';
import type { EventSource } from '../../../src/http/sse.ts';
import { streamResponse } from '../../../src/http/sse.ts';
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
