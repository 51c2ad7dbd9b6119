import type { Store } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { SEPOLIA } from '../../support/orders.ts';

/** Creates an instance of a class with the functions of an object as methods, and its other members as getters. */
function toInstance<T extends object>(members: T): T {
  class Instance {
    readonly #members = members;

    static call(instance: Instance, name: string, args: readonly unknown[]): unknown {
      const method = Reflect.get(instance.#members, name) as () => unknown; // the caller has checked
      return Reflect.apply(method, instance.#members, args);
    }
  }
  for (const [name, member] of Object.entries(members)) {
    Object.defineProperty(
      Instance.prototype,
      name,
      typeof member === 'function'
        ? {
            value(this: Instance, ...args: readonly unknown[]) {
              return Instance.call(this, name, args);
            },
          }
        : { get: () => member },
    );
  }
  return new Instance() as unknown as T; // it has all members
}

test('order book: uses a store that is an instance of a class, and observes it', async () => {
  const parts = Object.entries(memoryStore()).map(([name, part]) => {
    return [name, typeof part === 'object' ? toInstance(part) : part] as const;
  });
  const store = toInstance(Object.fromEntries(parts) as unknown as Store); // the same parts
  const book = createOrderBook({ chainId: SEPOLIA, store });
  const operations: string[] = [];
  book.on('storeQueried', ({ operation }) => operations.push(operation));
  await book.start();
  const result = await book.appData.put('{"a":1}');
  expect(result).toMatchObject({ status: 'stored' });
  expect(await book.orders.list()).toEqual({ orders: [] });
  await book.close();
  expect(operations).toContain('appData.put');
});
