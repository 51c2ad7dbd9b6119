import { createOrderBook, StoreError } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { manualClock } from '../../support/clock.ts';
import { SEPOLIA } from '../../support/orders.ts';
import { accepted, orderOf, START, settle } from '../../unit/orders/admission-fixture.ts';

test('listeners receive events stored while the log was unreadable, without another write', async () => {
  const clock = manualClock(START);
  const inner = memoryStore();
  let failingReads = 0;
  const store = {
    ...inner,
    events: {
      ...inner.events,
      async after(id: number, limit: number) {
        if (failingReads-- > 0) throw new StoreError('Unavailable', 'the disk failed');
        return inner.events.after(id, limit);
      },
    },
  };
  await using book = createOrderBook({ chainId: SEPOLIA, clock, store, expiryInterval: 'off' });
  const received: string[] = [];
  const failures: unknown[] = [];
  book.on('orderCreated', ({ uid }) => received.push(uid));
  book.on('failure', (failure) => failures.push(failure));
  await book.start();
  const idle = clock.pending;

  failingReads = 2;
  const uid = await accepted(book, await orderOf());
  await settle();
  expect([received, failures.length]).toEqual([[], 1]);
  clock.advance(1000);
  await settle();
  expect([received, failures.length]).toEqual([[], 2]);
  clock.advance(1000);
  await settle();
  expect(received).toEqual([uid]);
  expect(clock.pending).toBe(idle);
});
