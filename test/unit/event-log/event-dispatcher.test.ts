import type { Hex, OrderBookEvents, StoredEvent } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { describe, expect, test } from 'vitest';
import { createEmitter, createEventDispatcher } from '../../../src/event-log/event-dispatcher.ts';
import { BOOK_EVENTS } from '../../../src/order-book.ts';
import type { OrderEventType } from '../../../src/ports/order-events.ts';
import { ORDER_EVENTS } from '../../../src/ports/order-events.ts';
import { manualClock } from '../../support/clock.ts';

const UID: Hex = `0x${'12'.repeat(56)}`;
const OWNER: Hex = `0x${'ab'.repeat(20)}`;

/** A dispatcher over a log in memory, and what its listeners have received. */
function fixture({ writers = 'single' as 'single' | 'many', listening = true } = {}) {
  const entries: StoredEvent[] = [];
  const hints = new Set<() => void>();
  const reads: number[] = [];
  const positions: number[] = [];
  let broken: Error | undefined;
  const store = memoryStore();
  const clock = manualClock();
  const emitter = createEmitter<OrderBookEvents>('book.on', BOOK_EVENTS);
  const dispatcher = createEventDispatcher(
    {
      ...store,
      traits: { ...store.traits, writers },
      events: {
        async last() {
          positions.push(entries.length);
          return entries.length;
        },
        async after(id, limit) {
          reads.push(id);
          if (broken !== undefined) throw broken;
          return entries.slice(id, id + limit);
        },
        watch(hint) {
          hints.add(hint);
          return () => void hints.delete(hint);
        },
      },
    },
    clock,
    emitter,
  );
  const received: number[] = [];
  const listen = () => void emitter.on('orderCreated', ({ id }) => received.push(id));
  if (listening) listen();
  function write(count: number, type: OrderEventType = 'created') {
    for (let i = 0; i < count; i++) entries.push({ id: entries.length + 1, type, uid: UID, owner: OWNER, at: 5 });
  }
  return {
    write,
    /** Writes entries, and waits until the dispatcher has read them. */
    async add(count: number) {
      write(count);
      dispatcher.wake();
      await settle();
    },
    listen,
    positions,
    dispatcher,
    emitter,
    clock,
    received,
    reads,
    hints,
    fail: (failure?: Error) => {
      broken = failure;
    },
  };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('event dispatcher', () => {
  test('emits entries after the start, each once and in order', async () => {
    const { dispatcher, received, write, reads } = fixture();
    write(2);
    await dispatcher.start();
    await settle();
    expect(reads).toEqual([]);
    write(1);
    dispatcher.wake();
    await settle();
    write(1);
    dispatcher.wake();
    dispatcher.wake();
    await settle();
    expect(received).toEqual([3, 4]);
  });

  test('emits each type of entry under its own name, without the type', async () => {
    const { dispatcher, emitter, write } = fixture();
    const names: string[] = [];
    for (const type of ORDER_EVENTS) {
      const name = `order${type.slice(0, 1).toUpperCase()}${type.slice(1)}` as 'orderCreated'; // one per type
      emitter.on(name, (event) => names.push(`${name} ${JSON.stringify(event)}`));
    }
    await dispatcher.start();
    for (const type of ORDER_EVENTS) write(1, type);
    dispatcher.wake();
    await settle();
    expect(names[0]).toBe(`orderCreated {"id":1,"uid":"${UID}","owner":"${OWNER}","at":5}`);
    expect(names).toHaveLength(ORDER_EVENTS.length);
  });

  test('reads a long log page by page after one call', async () => {
    const { dispatcher, received, write, reads } = fixture();
    await dispatcher.start();
    write(1000);
    dispatcher.wake();
    await settle();
    expect(received).toHaveLength(1000);
    expect(reads).toEqual([0, 500, 1000]);
  });

  test('reads the log when the store reports new entries, until it stops', async () => {
    const { dispatcher, received, write, hints } = fixture();
    await dispatcher.start();
    write(1);
    for (const hint of hints) hint();
    await settle();
    expect(received).toEqual([1]);
    write(1);
    await dispatcher.stop();
    expect(received).toEqual([1, 2]);
    expect(hints.size).toBe(0);
    write(1);
    dispatcher.wake();
    await settle();
    expect(received).toEqual([1, 2]);
  });

  test('notifies watchers after entries were emitted, and not without entries', async () => {
    const { dispatcher, received, write } = fixture();
    const seen: number[] = [];
    const unwatch = dispatcher.watch(() => seen.push(received.length));
    await dispatcher.start();
    dispatcher.wake();
    await settle();
    write(2);
    dispatcher.wake();
    await settle();
    expect(seen).toEqual([2]);
    unwatch();
    write(1);
    dispatcher.wake();
    await settle();
    expect(seen).toEqual([2]);
  });

  test('continues after a listener that throws, and reports the failure', async () => {
    const { dispatcher, emitter, received, write } = fixture();
    const failures: unknown[] = [];
    const broken = new Error('listener');
    emitter.on('orderCreated', () => {
      throw broken;
    });
    emitter.on('failure', (failure) => failures.push(failure));
    await dispatcher.start();
    write(2);
    dispatcher.wake();
    await settle();
    expect(received).toEqual([1, 2]);
    expect(failures).toEqual([broken, broken]);
  });

  test('ignores what a failure listener throws', async () => {
    const { dispatcher, emitter, received, write } = fixture();
    let failures = 0;
    emitter.on('orderCreated', () => {
      throw new Error('listener');
    });
    emitter.on('failure', () => {
      failures++;
      throw new Error('failure listener');
    });
    await dispatcher.start();
    write(1);
    dispatcher.wake();
    await settle();
    expect([received, failures]).toEqual([[1], 1]);
  });

  test('reads the log again a second after a failed read', async () => {
    const { dispatcher, emitter, clock, received, write, fail } = fixture();
    const failures: unknown[] = [];
    emitter.on('failure', (failure) => failures.push(failure));
    await dispatcher.start();
    const broken = new Error('database');
    fail(broken);
    write(1);
    dispatcher.wake();
    await settle();
    fail();
    clock.advance(999);
    await settle();
    expect([received, failures]).toEqual([[], [broken]]);
    clock.advance(1);
    await settle();
    expect(received).toEqual([1]);
    await dispatcher.stop();
  });

  test('emits the entries of a shared log', async () => {
    const { dispatcher, received, write, add } = fixture({ writers: 'many' });
    write(2);
    await dispatcher.start();
    await add(2);
    expect(received).toEqual([3, 4]);
  });

  test('does not read the entries of a shared log without a listener', async () => {
    const { dispatcher, clock, add, reads, positions } = fixture({ writers: 'many', listening: false });
    clock.advance(5_000);
    await dispatcher.start();
    let notifications = 0;
    dispatcher.watch(() => notifications++);
    for (let i = 0; i < 30; i++) {
      await add(1);
      clock.advance(100);
    }
    expect(reads).toEqual([]);
    expect(notifications).toBe(30);
    // At the start, and once a second.
    expect(positions).toEqual([0, 1, 11, 21]);
  });

  // Its stores number the entries, and notify other processes, when the position is read.
  test('reads the position of a shared log within a second after an entry, and at the end', async () => {
    const { dispatcher, clock, add, positions } = fixture({ writers: 'many', listening: false });
    clock.advance(5_000);
    await dispatcher.start();
    await add(1);
    clock.advance(400);
    await add(1);
    clock.advance(599);
    await settle();
    expect(positions).toEqual([0, 1]);
    clock.advance(1);
    await settle();
    expect([positions, clock.pending]).toEqual([[0, 1, 2], 0]);
    await add(1);
    await dispatcher.stop();
    expect([positions, clock.pending]).toEqual([[0, 1, 2, 3], 0]);
  });

  test('emits the entries of a shared log to a new listener, from the last second on', async () => {
    const { dispatcher, clock, add, listen, received } = fixture({ writers: 'many', listening: false });
    clock.advance(5_000);
    await dispatcher.start();
    await add(5);
    await add(1);
    listen();
    await add(1);
    expect(received).toEqual([6, 7]);
  });

  test('loses no entry for a listener that is added while the position is queried', async () => {
    const { dispatcher, clock, write, listen, received } = fixture({ writers: 'many', listening: false });
    clock.advance(5_000);
    await dispatcher.start();
    write(1);
    dispatcher.wake(); // queries the position
    listen();
    await settle();
    expect(received).toEqual([1]);
  });
});
