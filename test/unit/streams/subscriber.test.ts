import { describe, expect, test } from 'vitest';
import type { LogPage, StreamEvent, StreamItem, StreamPosition } from '../../../src/streams/stream.ts';
import { StreamSubscriber, type SubscriberHost, type SubscriberOptions } from '../../../src/streams/subscriber.ts';

const item = (id: number): StreamItem => ({ type: 'item', id, event: 'order', data: `{"n":${id}}` });
const page = (through: number, ...ids: number[]): LogPage => ({ items: ids.map(item), through });
const shown = (events: readonly (StreamEvent | StreamPosition)[]) =>
  events.map((event) => (event.type === 'gap' ? `${event.from}..${event.to}` : event.id));

/** A subscriber whose broadcaster is at `at`, and whose own reads of the log return `pages`, in order. */
function fixture(
  changes: Partial<SubscriberHost> & {
    at?: number;
    pages?: (() => Promise<LogPage>)[];
    matches?: SubscriberOptions['matches'];
  } = {},
) {
  const { at = 0, pages = [], matches, ...options } = changes;
  const calls: string[] = [];
  const failures: unknown[] = [];
  const broadcaster: { position: number | undefined } = { position: at };
  const host: SubscriberHost = {
    queueSize: 3,
    resumeLimit: 10,
    position: () => broadcaster.position,
    resume: async ({ options }, after, last) => {
      calls.push(`resume ${options.key} ${after}..${last}`);
      const next = pages.shift();
      return next === undefined ? { items: [], through: last } : next();
    },
    onLive: () => void calls.push('live'),
    onLagging: () => void calls.push('lagging'),
    onLeave: () => void calls.push('leave'),
    onFailure: (failure) => void failures.push(failure),
    ...options,
  };
  const subscriber = new StreamSubscriber(host, { key: 'a', matches });
  return { subscriber, calls, failures, broadcaster };
}

/** The last id of a log epoch. */
const END = 2 ** 40;

describe('stream subscriber that begins while the log begins a new epoch', () => {
  const NEWEST = END + 1;

  test.each([4, 0])('receives one gap after position %i, and nothing before it', async (after) => {
    const { subscriber } = fixture({ at: NEWEST });
    subscriber.restart(END + 1, NEWEST);
    await subscriber.begin(after, 4);
    const first = after === 0 ? `1..${NEWEST - 10}` : `5..${END}`;
    expect(shown(await subscriber.take())).toEqual([first]);
    subscriber.push(item(NEWEST + 1));
    expect(shown(await subscriber.take())).toEqual([NEWEST + 1]);
  });
});

describe('stream subscriber with several pending reads', () => {
  async function waiting() {
    const { subscriber } = fixture();
    await subscriber.begin(0, 0);
    const iterator = subscriber[Symbol.asyncIterator]();
    const results: unknown[] = [];
    const read = async (n: number) => {
      const { done, value } = await iterator.next();
      results.push([n, ...(done ? ['end'] : shown([value]))]);
    };
    for (const n of [1, 2, 3]) void read(n);
    await settle();
    return { subscriber, results };
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  test('returns an event to each of them, in their order', async () => {
    const { subscriber, results } = await waiting();
    for (const id of [5, 6, 7]) {
      subscriber.push(item(id));
      await settle();
    }
    expect(results).toEqual([
      [1, 5],
      [2, 6],
      [3, 7],
    ]);
  });

  test('ends all of them', async () => {
    const { subscriber, results } = await waiting();
    subscriber.leave();
    await settle();
    expect(results).toEqual([
      [1, 'end'],
      [2, 'end'],
      [3, 'end'],
    ]);
  });
});

describe('stream subscriber queue', () => {
  test('holds exactly its size, and one more item turns all of them into a gap', async () => {
    const full = fixture();
    await full.subscriber.begin(0, 0);
    for (const id of [1, 2, 3]) full.subscriber.push(item(id));
    expect(shown(await full.subscriber.take())).toEqual([1, 2, 3]);

    const over = fixture();
    await over.subscriber.begin(0, 0);
    for (const id of [2, 4, 6, 8]) over.subscriber.push(item(id));
    expect(shown(await over.subscriber.take())).toEqual(['2..8']);
    over.subscriber.push(item(9));
    expect(shown(await over.subscriber.take())).toEqual([9]);
  });

  test('extends a gap that is not read yet', async () => {
    const { subscriber } = fixture({ queueSize: 1 });
    await subscriber.begin(0, 0);
    for (const id of [1, 2, 3, 7]) subscriber.push(item(id));
    expect(shown(await subscriber.take())).toEqual(['1..7']);
  });

  test('merges the gap of a long absence with the entries behind it', async () => {
    const { subscriber } = fixture({ at: 20, queueSize: 2 });
    await subscriber.begin(5, 20);
    expect([subscriber.start, subscriber.backlog]).toEqual([5, 10]);
    subscriber.restart(END + 1, END + 21);
    expect(shown(await subscriber.take())).toEqual([`6..${END}`]);
  });

  test('omits items that it has received, at or below its position', async () => {
    const { subscriber } = fixture({ at: 5 });
    await subscriber.begin(5, 5);
    for (const id of [4, 5, 6, 6, 5]) subscriber.push(item(id));
    expect(shown(await subscriber.take())).toEqual([6]);
  });
});

describe('stream subscriber that resumes', () => {
  test.each([
    [10, ['resume a 0..10', 'live'], [10]],
    [11, ['resume a 1..11', 'live'], ['1..1', 11]],
  ])('over %d entries with a limit of 10', async (last, calls, events) => {
    const started = fixture({ at: last, pages: [async () => page(last, last)] });
    await started.subscriber.begin(0, last);
    const received: (number | string)[] = [];
    while (received.at(-1) !== last) received.push(...shown(await started.subscriber.take()));
    expect(received).toEqual(events);
    expect(started.calls).toEqual(calls);
  });

  test('counts the entries since its own position only', async () => {
    const { subscriber } = fixture({ at: 12, pages: [async () => page(12, 12)] });
    await subscriber.begin(5, 12);
    expect([subscriber.start, subscriber.backlog]).toEqual([5, 7]);
    expect(shown(await subscriber.take())).toEqual([12]);
  });

  test('reads pages until it has reached the broadcaster, then receives pushed items', async () => {
    const { subscriber, calls } = fixture({ at: 6, pages: [async () => page(4, 2, 4), async () => page(6)] });
    await subscriber.begin(1, 6);
    expect([subscriber.start, subscriber.backlog]).toEqual([1, 5]);
    expect(shown(await subscriber.take())).toEqual([2, 4]);
    const next = subscriber.take();
    await Promise.resolve();
    await Promise.resolve();
    subscriber.push(item(7));
    expect(shown(await next)).toEqual([7]);
    expect(calls).toEqual(['resume a 1..6', 'resume a 4..6', 'live']);
  });

  test('does not repeat a page that reads beyond the broadcaster', async () => {
    const { subscriber } = fixture({ at: 2, pages: [async () => page(3, 2, 3)] });
    await subscriber.begin(1, 2);
    expect(shown(await subscriber.take())).toEqual([2, 3]);
    subscriber.push(item(3));
    subscriber.push(item(4));
    expect(shown(await subscriber.take())).toEqual([4]);
  });

  test('ends and reports the failure if the log cannot be read', async () => {
    const broken = new Error('gone');
    const { subscriber, calls, failures } = fixture({ at: 2, pages: [() => Promise.reject(broken)] });
    await subscriber.begin(1, 2);
    expect(await subscriber.take()).toEqual([]);
    expect(failures).toEqual([broken]);
    expect(calls).toEqual(['resume a 1..2', 'leave']);
  });

  test('reports the failure once to several pending reads', async () => {
    const broken = new Error('gone');
    const { subscriber, failures } = fixture({ at: 2, pages: [() => Promise.reject(broken)] });
    await subscriber.begin(1, 2);
    const iterator = subscriber[Symbol.asyncIterator]();
    expect(await Promise.all([iterator.next(), iterator.next(), subscriber.take()])).toMatchObject([
      { done: true },
      { done: true },
      [],
    ]);
    expect(failures).toEqual([broken]);
  });

  test('ends if the broadcaster has stopped', async () => {
    const { subscriber, calls, broadcaster } = fixture({ at: 2 });
    await subscriber.begin(1, 2);
    broadcaster.position = undefined;
    expect(await subscriber.take()).toEqual([]);
    expect(calls).toEqual(['leave']);
  });

  test('receives no items after it has left during a read', async () => {
    const { subscriber, calls } = fixture({
      at: 2,
      pages: [
        async () => {
          subscriber.leave();
          return page(2, 2);
        },
      ],
    });
    await subscriber.begin(1, 2);
    expect(await subscriber.take()).toEqual([]);
    expect(calls).toEqual(['resume a 1..2', 'leave']);
  });

  test('drops entries of a page that the log has lost in the meantime', async () => {
    const { subscriber } = fixture({
      at: 3,
      pages: [
        async () => {
          subscriber.restart(END + 1, END + 100);
          return page(3, 2, 3);
        },
      ],
    });
    await subscriber.begin(1, 3);
    expect(shown(await subscriber.take())).toEqual([`2..${END}`]);
    subscriber.push(item(END + 101));
    expect(shown(await subscriber.take())).toEqual([END + 101]);
  });

  test('reads the log again after it has fallen behind', async () => {
    const { subscriber, calls, broadcaster } = fixture({ pages: [async () => page(2, 1, 2)] });
    await subscriber.begin(0, 0);
    const waiting = subscriber.take();
    subscriber.fallBehind();
    broadcaster.position = 2;
    expect(shown(await waiting)).toEqual([1, 2]);
    expect(calls).toEqual(['live', 'lagging', 'resume a 0..2', 'live']);
  });
});

describe('stream subscriber of a log that has lost entries', () => {
  test('announces queued entries and those up to the start of the epoch as one gap', async () => {
    const { subscriber } = fixture();
    await subscriber.begin(0, 0);
    subscriber.push(item(1));
    subscriber.push(item(2));
    subscriber.restart(END + 1, END + 9);
    expect(shown(await subscriber.take())).toEqual([`1..${END}`]);
  });

  test('keeps the beginning of a gap that is not read yet', async () => {
    const { subscriber } = fixture({ queueSize: 1 });
    await subscriber.begin(0, 0);
    for (const id of [1, 2, 3]) subscriber.push(item(id));
    subscriber.restart(END + 1, END + 9);
    expect(shown(await subscriber.take())).toEqual([`1..${END}`]);
  });

  test('sends the entries of the new epoch after the gap, also before the gap is read', async () => {
    const { subscriber } = fixture();
    await subscriber.begin(3, 3);
    subscriber.restart(END + 1, END + 2);
    for (const id of [END + 1, END + 2]) subscriber.push(item(id));
    expect(shown(await subscriber.take())).toEqual([`4..${END}`, END + 1, END + 2]);
  });

  test('wakes a waiting reader', async () => {
    const { subscriber } = fixture();
    await subscriber.begin(3, 3);
    const waiting = subscriber.take();
    subscriber.restart(END + 1, END + 4);
    expect(shown(await waiting)).toEqual([`4..${END}`]);
  });

  test('has no gap if it has reached the new epoch, or received nothing', async () => {
    const reached = fixture();
    await reached.subscriber.begin(0, 0);
    reached.subscriber.push(item(END + 4));
    reached.subscriber.restart(END + 1, END + 6);
    expect(shown(await reached.subscriber.take())).toEqual([END + 4]);

    const empty = fixture();
    await empty.subscriber.begin(0, 0);
    empty.subscriber.restart(END + 1, END + 1);
    empty.subscriber.push(item(END + 1));
    expect(shown(await empty.subscriber.take())).toEqual([END + 1]);
  });
});

describe('stream subscriber with a filter', () => {
  const isEven = ({ id }: StreamItem) => id % 2 === 0;

  test('receives the items that match, of a page and of the broadcaster', async () => {
    const { subscriber } = fixture({ at: 4, matches: isEven, pages: [async () => page(4, 2, 3, 4)] });
    await subscriber.begin(1, 4);
    expect(shown(await subscriber.take())).toEqual([2, 4]);
    const next = subscriber.take();
    await new Promise((resolve) => setImmediate(resolve));
    for (const id of [5, 6, 7]) subscriber.push(item(id));
    expect(shown(await next)).toEqual([6]);
  });

  test('keeps its queue for items that match', async () => {
    const { subscriber } = fixture({ matches: isEven });
    await subscriber.begin(0, 0);
    for (const id of [1, 2, 3, 4, 5, 6]) subscriber.push(item(id));
    expect(shown(await subscriber.take())).toEqual([2, 4, 6]);
  });

  test('receives gaps', async () => {
    const { subscriber } = fixture({ matches: () => false });
    await subscriber.begin(0, 0);
    subscriber.skip(3, 5);
    expect(shown(await subscriber.take())).toEqual(['4..5']);
  });

  test('receives a position after a long page without an item that matches', async () => {
    const pages = [async () => page(128, 1, 3), async () => page(130, 129)];
    const { subscriber } = fixture({ at: 130, resumeLimit: 500, matches: isEven, pages });
    await subscriber.begin(0, 130);
    expect(await subscriber.take()).toEqual([{ type: 'position', id: 128 }]);
    const next = subscriber.take();
    await new Promise((resolve) => setImmediate(resolve));
    expect(subscriber.position).toBe(130);
    subscriber.push(item(132));
    expect(shown(await next)).toEqual([132]);
  });
});

describe('stream subscriber that leaves', () => {
  test('ends its reader, drops what is queued, and reports it once', async () => {
    const { subscriber, calls } = fixture();
    await subscriber.begin(0, 0);
    subscriber.push(item(1));
    subscriber.leave();
    subscriber.leave();
    subscriber.push(item(2));
    expect(await subscriber.take()).toEqual([]);
    expect(calls).toEqual(['live', 'leave']);
  });

  test('ends its iterator, also when the consumer returns early', async () => {
    const { subscriber, calls } = fixture();
    await subscriber.begin(0, 0);
    subscriber.push(item(1));
    const iterator = subscriber[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: item(1) });
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    expect(calls).toEqual(['live', 'leave']);
  });
});

describe('position of a stream subscriber', () => {
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  test('is that of the broadcaster while it waits, and undefined while events are queued', async () => {
    const { subscriber, broadcaster } = fixture({ at: 4 });
    await subscriber.begin(4, 4);
    expect(subscriber.position).toBeUndefined();
    const taken = subscriber.take();
    broadcaster.position = 9;
    expect(subscriber.position).toBe(9);
    subscriber.push(item(10));
    expect(subscriber.position).toBeUndefined();
    expect(shown(await taken)).toEqual([10]);
    expect(subscriber.position).toBeUndefined();
  });

  test('is sent after many foreign entries, in order with those of the subscriber', async () => {
    const { subscriber } = fixture();
    await subscriber.begin(0, 0);
    subscriber.report(127);
    subscriber.report(128);
    subscriber.push(item(130));
    subscriber.report(300);
    expect(await subscriber.take()).toEqual([{ type: 'position', id: 128 }, item(130)]);
  });

  test('is not returned by the iterator', async () => {
    const { subscriber } = fixture();
    await subscriber.begin(0, 0);
    const next = subscriber[Symbol.asyncIterator]().next();
    subscriber.report(128);
    await settle();
    subscriber.push(item(130));
    expect(await next).toEqual({ done: false, value: item(130) });
  });

  test('before a gap is the one that the client has sent', async () => {
    const { subscriber } = fixture({ at: 100 });
    await subscriber.begin(4, 100);
    expect([subscriber.start, shown(await subscriber.take())]).toEqual([4, ['5..90']]);
  });
});
