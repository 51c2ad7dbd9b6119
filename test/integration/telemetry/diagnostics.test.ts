import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { OrderBookEvents } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { DIAGNOSTICS_EVENTS, publishDiagnostics } from 'intentbook/diagnostics';
import { memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';

const validTo = Math.floor(Date.now() / 1000) + 600;

test('book publishes its events on channels until the publication ends', async () => {
  const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
  await book.start();
  const stop = publishDiagnostics({ name: 'sepolia', book });
  const messages: { channel: string; message: unknown }[] = [];
  const listener = (message: unknown, channel: string | symbol) => {
    messages.push({ channel: String(channel), message });
  };
  subscribe('intentbook:ordersSubmitted', listener);
  await book.orders.submit(await signOrder(account(1), { validTo }));
  const event = { accepted: 1, rejected: [], ms: expect.any(Number) };
  expect(messages).toEqual([{ channel: 'intentbook:ordersSubmitted', message: { book: 'sepolia', event } }]);

  stop();
  await book.orders.submit(await signOrder(account(2), { validTo }));
  expect(messages).toHaveLength(1);
  unsubscribe('intentbook:ordersSubmitted', listener);
  await book.close();
});

test('each published event is added to a book and removed from it', () => {
  const listeners = new Map<string, number>();
  const count = (change: number) => (event: keyof OrderBookEvents) =>
    void listeners.set(event, (listeners.get(event) ?? 0) + change);
  const stop = publishDiagnostics({ name: 'a', book: { on: count(1), off: count(-1) } });
  expect([...listeners]).toEqual(DIAGNOSTICS_EVENTS.map((event) => [event, 1]));
  stop();
  expect([...listeners.values()].every((left) => left === 0)).toBe(true);
});
