import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { setTickScheduler } from '../../../src/ports/clock.ts';
import { findGapEnd } from '../../../src/records/event-log.ts';
import type { BroadcasterOptions, StreamBroadcaster } from '../../../src/streams/broadcaster.ts';
import { createStreamBroadcaster } from '../../../src/streams/broadcaster.ts';
import type { Stream, StreamEvent, StreamItem, StreamPosition } from '../../../src/streams/stream.ts';

/** A log in memory whose entries have the keys `a` and `b`, and a broadcaster over it. */
function fixture(options: Partial<BroadcasterOptions> = {}) {
  const entries: { id: number; key: string }[] = [];
  const wakeUps = new Set<() => void>();
  const failures: unknown[] = [];
  /** Runs during a read of the log, before its result. */
  const meanwhile: (() => Promise<void>)[] = [];
  const itemOf = ({ id, key }: { id: number; key: string }): StreamItem => ({
    type: 'item',
    id,
    event: key,
    data: String(id),
  });
  const reads = { follow: 0, resume: 0 };
  /** The keys of each shared read. */
  const keysOfReads: string[] = [];
  const hub: StreamBroadcaster = createStreamBroadcaster({
    queueSize: 4,
    resumeLimit: 1000,
    onFailure: (failure) => void failures.push(failure),
    log: {
      pageSize: 100,
      last: async () => entries.length,
      prunedThrough: async () => 0,
      watch(wakeUp) {
        wakeUps.add(wakeUp);
        return () => void wakeUps.delete(wakeUp);
      },
      async follow(after, keys) {
        reads.follow++;
        keysOfReads.push([...keys].join());
        const page = entries.slice(after, after + 3);
        await meanwhile.shift()?.();
        const wanted = page.filter(({ key }) => keys.has(key));
        return {
          items: wanted.map(itemOf),
          keysOf: wanted.map(({ key }) => [key]),
          through: page.at(-1)?.id ?? after,
        };
      },
      async resume(after, key) {
        reads.resume++;
        const page = entries.slice(after, after + 3);
        await meanwhile.shift()?.();
        return { items: page.filter((each) => each.key === key).map(itemOf), through: page.at(-1)?.id ?? after };
      },
    },
    ...options,
  });
  return {
    hub,
    failures,
    meanwhile,
    wakeUps,
    reads,
    keysOfReads,
    write(...keys: string[]) {
      for (const key of keys) entries.push({ id: entries.length + 1, key });
      for (const wakeUp of wakeUps) wakeUp();
    },
  };
}

/** Replaces the ticks of the event loop by those that the test runs. */
async function controlTicks() {
  await turn();
  await turn();
  let tasks: (() => void)[] = [];
  setTickScheduler((task) => tasks.push(task));
  const next = () => {
    const due = tasks;
    tasks = [];
    for (const task of due) task();
  };
  const restore = async () => {
    setTickScheduler(undefined);
    for (let i = 0; i < 5; i++, await turn()) next();
  };
  return { next, restore };
}

/** Returns the events of a stream, which are added as they arrive. */
function collect(stream: Stream): StreamEvent[] {
  const events: StreamEvent[] = [];
  const read = async () => {
    for await (const event of stream) events.push(event);
  };
  void read();
  return events;
}

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
const turn = () => new Promise((resolve) => setImmediate(resolve));
const shown = (events: readonly (StreamEvent | StreamPosition)[]) =>
  events.map((event) => (event.type === 'gap' ? `${event.from}..${event.to}` : event.id));

describe('event stream', () => {
  test('starts at the current position and emits the events of its key in order', async () => {
    const { hub, write } = fixture();
    write('a', 'a');
    const stream = await hub.subscribe('a');
    assert.equal(stream.start, 2);
    write('a', 'b', 'a');
    await turn();
    assert.deepEqual(shown(await stream.take()), [3, 5]);
  });

  test('includes events before its first read', async () => {
    const { hub, write } = fixture();
    const stream = await hub.subscribe('a');
    write('a');
    await turn();
    write('a');
    await turn();
    assert.deepEqual(shown(await stream.take()), [1, 2]);
  });

  test('resumes page by page from a position and continues with new events', async () => {
    const { hub, write } = fixture();
    write(...'abababab');
    const stream = await hub.subscribe('a', { after: 1 });
    const seen: (StreamEvent | StreamPosition)[] = [];
    while (seen.length < 3) seen.push(...(await stream.take()));
    assert.deepEqual(shown(seen), [3, 5, 7]);
    const next = stream.take();
    write('b', 'a');
    assert.deepEqual(shown(await next), [10]);
  });

  test('misses no event written while it catches up or delivers', async () => {
    const { hub, write, meanwhile } = fixture();
    const first = await hub.subscribe('b');
    let late: Awaited<ReturnType<StreamBroadcaster['subscribe']>> | undefined;
    meanwhile.push(async () => {
      late = await hub.subscribe('a', { after: 0 });
    });
    write('a', 'b');
    await turn();
    assert.deepEqual(shown(await first.take()), [2]);
    assert.deepEqual(shown((await late?.take()) ?? []), [1]);
  });

  test('emits a gap when its queue is full, and continues behind it', async () => {
    const { hub, write } = fixture();
    const [slow, quick] = [await hub.subscribe('a'), await hub.subscribe('a')];
    const received: (number | string)[] = [];
    for (let i = 0; i < 7; i++) {
      write('a');
      await turn();
      received.push(...shown(await quick.take()));
    }
    assert.deepEqual(received, [1, 2, 3, 4, 5, 6, 7]);
    assert.deepEqual(shown(await slow.take()), ['1..7']);
    write('a');
    assert.deepEqual(shown(await slow.take()), [8]);
  });

  test('emits a gap after a long absence, then the rest', async () => {
    const { hub, write } = fixture({ resumeLimit: 3 });
    write(...'aaaaaaaaaa');
    const stream = await hub.subscribe('a', { after: 2 });
    assert.deepEqual(shown(await stream.take()), ['3..7']);
    assert.deepEqual(shown(await stream.take()), [8, 9, 10]);
  });

  test('from an unknown position starts at the end with a notice', async () => {
    const { hub, write } = fixture();
    write('a', 'a');
    const stream = await hub.subscribe('a', { after: 99 });
    assert.deepEqual(shown(await stream.take()), ['1..2']);
    write('a');
    assert.deepEqual(shown(await stream.take()), [3]);
  });

  test('ends when its reader leaves, its signal aborts or the broadcaster closes', async () => {
    const { hub } = fixture();
    const controller = new AbortController();
    const streams = [
      await hub.subscribe('a'),
      await hub.subscribe('a', { signal: controller.signal }),
      await hub.subscribe('a'),
    ];
    const waiting = streams.map((stream) => stream.take());
    assert.equal(hub.size, 3);
    streams[0]?.leave();
    assert.equal(hub.size, 2);
    controller.abort();
    assert.equal(hub.size, 1);
    hub.close();
    assert.deepEqual(await Promise.all(waiting), [[], [], []]);
    assert.equal(hub.size, 0);
    const aborted = await hub.subscribe('a', { signal: AbortSignal.abort() });
    assert.deepEqual(await aborted.take(), []);
  });

  test('follows the log once if all subscribers leave before it has begun', async () => {
    const { hub, wakeUps } = fixture();
    const early = hub.subscribe('a');
    hub.close();
    const late = hub.subscribe('a');
    assert.deepEqual(await (await early).take(), []);
    assert.equal(wakeUps.size, 1);
    (await late).leave();
    assert.equal(wakeUps.size, 0);
  });

  test('removes its listener from its signal when it ends', async () => {
    const { hub } = fixture();
    const { signal } = new AbortController();
    const streams = [await hub.subscribe('a', { signal }), await hub.subscribe('a', { signal })];
    assert.equal(getEventListeners(signal, 'abort').length, 2);
    for (const stream of streams) stream.leave();
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  test('is an async iterable', async () => {
    const { hub, write } = fixture();
    const stream = await hub.subscribe('a');
    write('a', 'a');
    const seen: StreamEvent[] = [];
    for await (const event of stream) if (seen.push(event) === 2) break;
    assert.deepEqual(shown(seen), [1, 2]);
    assert.equal(hub.size, 0);
  });
});

describe('stream broadcaster', () => {
  test('reads the log once for all subscribers and not at all without any', async () => {
    const { hub, write, reads, wakeUps } = fixture();
    write('a');
    const streams = await Promise.all(Array.from({ length: 50 }, () => hub.subscribe('a')));
    await turn();
    const before = reads.follow;
    write('a');
    await turn();
    for (const stream of streams) assert.deepEqual(shown(await stream.take()), [2]);
    assert.ok(reads.follow - before <= 2, `${reads.follow - before} reads`);
    for (const stream of streams) stream.leave();
    assert.equal(wakeUps.size, 0);
    write('a');
    await turn();
    assert.ok(reads.follow - before <= 2);
    assert.equal(reads.resume, 0);
  });

  test('reads only the keys of its subscribers', async () => {
    const { hub, write, keysOfReads } = fixture();
    const [a, b] = [await hub.subscribe('a'), await hub.subscribe('b')];
    const another = await hub.subscribe('b');
    await turn();
    for (const leave of [b.leave, another.leave, a.leave]) {
      write('a');
      for (let page = 0; page < 4; page++) await turn(); // a page per tick
      leave();
    }
    const keys = new Set(keysOfReads);
    keys.delete(''); // the read before the first subscriber is live
    assert.deepEqual([...keys], ['a,b', 'a']);
    assert.deepEqual(keysOfReads.slice(-2), ['a', 'a']);
  });

  test('reads one page per tick of the event loop, for all subscribers and for those that resume', async () => {
    const { hub, write, reads } = fixture({ queueSize: 100 });
    write(...Array.from({ length: 9 }, () => 'a'));
    const ticks = await controlTicks();
    try {
      const live = await hub.subscribe('a');
      const resuming = [await hub.subscribe('a', { after: 0 }), await hub.subscribe('a', { after: 3 })];
      const received = [live, ...resuming].map((stream) => collect(stream));
      write(...Array.from({ length: 9 }, () => 'a'));
      const perTick: number[] = [];
      for (let i = 0, before = 0; i < 40; i++) {
        await turn();
        perTick.push(reads.follow + reads.resume - before);
        before = reads.follow + reads.resume;
        ticks.next();
      }
      // More pages in one tick would delay other requests by their sum.
      assert.equal(Math.max(...perTick), 1);
      assert.deepEqual(received.map(shown), [range(10, 18), range(1, 18), range(4, 18)]);
    } finally {
      await ticks.restore();
    }
  });

  test('sends nothing pushed to a subscriber that has missed an earlier entry', async () => {
    const { hub, write, meanwhile } = fixture();
    await hub.subscribe('b');
    let late: Awaited<ReturnType<StreamBroadcaster['subscribe']>> | undefined;
    meanwhile.push(async () => {
      late = await hub.subscribe('a', { after: 0 });
    });
    write('a');
    await turn();
    write('a');
    await turn();
    assert.deepEqual(shown((await late?.take()) ?? []), [1, 2]);
  });

  test('does not read the log separately for a subscriber that joins during a read of no entries', async () => {
    const { hub, write, meanwhile, reads } = fixture();
    const other = await hub.subscribe('b');
    await turn();
    let joined: Awaited<ReturnType<StreamBroadcaster['subscribe']>> | undefined;
    meanwhile.push(async () => {
      joined = await hub.subscribe('a');
    });
    write();
    await turn();
    write('a');
    assert.deepEqual(shown((await joined?.take()) ?? []), [1]);
    assert.equal(reads.resume, 0);
    other.leave();
  });

  test('drops a read of subscribers that have left, and serves those that follow', async () => {
    const { hub, write, meanwhile, failures } = fixture();
    const left = await hub.subscribe('a');
    await turn();
    let next: Awaited<ReturnType<StreamBroadcaster['subscribe']>> | undefined;
    meanwhile.push(async () => {
      left.leave();
    });
    write('a');
    await turn();
    meanwhile.push(async () => {
      next?.leave();
      next = await hub.subscribe('b');
    });
    next = await hub.subscribe('a');
    await turn();
    write('a', 'b');
    assert.deepEqual(shown(await next.take()), [3]);
    assert.deepEqual(failures, []);
  });

  test('ignores a late call of its log after the last subscriber has left', async () => {
    const { hub, write, wakeUps, reads } = fixture();
    const stream = await hub.subscribe('a');
    await turn();
    const [wakeUp] = wakeUps;
    stream.leave();
    const before = reads.follow;
    wakeUp?.();
    write('a');
    await turn();
    assert.equal(reads.follow, before);
    const again = await hub.subscribe('a');
    write('a');
    assert.deepEqual(shown(await again.take()), [2]);
  });

  test('rejects a subscription if the end of the log is unknown, and accepts the next one', async () => {
    const broken = new Error('gone');
    let calls = 0;
    const { hub } = fixture({
      log: {
        pageSize: 100,
        last: async () => {
          if (++calls === 1) throw broken;
          return 0;
        },
        prunedThrough: async () => 0,
        watch: () => () => {},
        follow: async (after) => ({ items: [], keysOf: [], through: after }),
        resume: async (after) => ({ items: [], through: after }),
      },
    });
    await assert.rejects(hub.subscribe('a'), broken);
    assert.equal(hub.size, 0);
    assert.equal((await hub.subscribe('a')).start, 0);
    assert.equal(hub.size, 1);
  });

  test('ends its streams when the log cannot be read, so that subscribers reconnect', async () => {
    const broken = new Error('gone');
    const { hub, write, meanwhile, failures } = fixture();
    const stream = await hub.subscribe('a');
    await turn();
    meanwhile.push(async () => {
      throw broken;
    });
    write('a');
    assert.deepEqual(await stream.take(), []);
    assert.deepEqual(failures, [broken]);
    const again = await hub.subscribe('a', { after: stream.start });
    assert.deepEqual(shown(await again.take()), [1]);
  });

  test('delivers every event once to a subscriber that reconnects, under random interleavings', async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ op: fc.constant('write' as const), key: fc.constantFrom('a', 'b') }) },
      { weight: 3, arbitrary: fc.constant({ op: 'turn' as const }) },
      { weight: 2, arbitrary: fc.record({ op: fc.constant('take' as const), reader: fc.nat(2) }) },
      { weight: 1, arbitrary: fc.record({ op: fc.constant('leave' as const), reader: fc.nat(2) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { hub, write } = fixture({ queueSize: 1000 });
        const keys: string[] = [];
        const readers = ['a', 'a', 'b'].map((key) => ({ key, place: 0, seen: [] as number[] }));
        const streams = await Promise.all(readers.map(({ key }) => hub.subscribe(key, { after: 0 })));
        const take = async (i: number) => {
          const [reader, stream] = [readers[i], streams[i]];
          if (reader === undefined || stream === undefined) return;
          for (const event of await stream.take()) {
            assert.equal(event.type, 'item');
            if (event.type !== 'item') continue;
            reader.seen.push(event.id);
            reader.place = event.id;
          }
        };
        const missing = (i: number) =>
          keys.filter((key, at) => key === readers[i]?.key && at + 1 > (readers[i]?.place ?? 0)).length > 0;
        for (const each of steps) {
          if (each.op === 'write') {
            keys.push(each.key);
            write(each.key);
          } else if (each.op === 'turn') await turn();
          else if (each.op === 'leave') {
            const reader = readers[each.reader];
            streams[each.reader]?.leave();
            if (reader !== undefined) streams[each.reader] = await hub.subscribe(reader.key, { after: reader.place });
          } else if (missing(each.reader)) await take(each.reader);
        }
        for (const i of readers.keys()) while (missing(i)) await take(i);
        for (const { key, seen } of readers) {
          assert.deepEqual(
            seen,
            keys.flatMap((each, at) => (each === key ? [at + 1] : [])),
          );
        }
        hub.close();
      }),
      { numRuns: process.env['TEST_LONG'] === undefined ? 300 : 20_000 },
    );
  });
});

describe('stream broadcaster of a log that begins a new log epoch', () => {
  const next = 2 ** 40;

  /** A log whose ids continue in the next log epoch after `switchOver`. */
  function failingOver(resumeLimit = 1000) {
    let ids = [1, 2];
    const wakeUps = new Set<() => void>();
    const read = async (after: number) => {
      const page = ids.filter((id) => id > after);
      const items = page.map((id): StreamItem => ({ type: 'item', id, event: 'a', data: '' }));
      const gapEnd = findGapEnd(
        after,
        page.map((id) => ({ id })),
      );
      return { items, keysOf: page.map(() => ['a']), through: page.at(-1) ?? after, gapEnd };
    };
    const hub = createStreamBroadcaster({
      queueSize: 4,
      resumeLimit,
      onFailure: (failure) => assert.fail(String(failure)),
      log: {
        pageSize: 100,
        last: async () => ids.at(-1) ?? 0,
        prunedThrough: async () => 0,
        watch: (wakeUp) => {
          wakeUps.add(wakeUp);
          return () => void wakeUps.delete(wakeUp);
        },
        follow: read,
        resume: read,
      },
    });
    return {
      hub,
      switchOver() {
        ids = [1, next + 1, next + 2];
        for (const wakeUp of wakeUps) wakeUp();
      },
    };
  }

  /** A gap up to the start of the log epoch, and then its entries. */
  const NEW_EPOCH = [
    { type: 'gap', from: 3, to: next },
    { type: 'item', id: next + 1, event: 'a', data: '' },
    { type: 'item', id: next + 2, event: 'a', data: '' },
  ];

  test('sends a gap to a subscriber that is connected', async () => {
    const { hub, switchOver } = failingOver();
    const stream = await hub.subscribe('a');
    switchOver();
    assert.deepEqual(await stream.take(), NEW_EPOCH);
    hub.close();
  });

  test.each([1000, Number.MAX_SAFE_INTEGER])(
    'sends a gap to a subscriber that resumes from the previous log epoch, with a limit of %i',
    async (limit) => {
      const { hub, switchOver } = failingOver(limit);
      switchOver();
      const stream = await hub.subscribe('a', { after: 2 });
      assert.deepEqual([...(await stream.take()), ...(await stream.take())], NEW_EPOCH);
      hub.close();
    },
  );
});
