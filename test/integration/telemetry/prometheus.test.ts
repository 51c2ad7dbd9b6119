import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { instrumentBooks } from 'intentbook/prometheus';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { SEPOLIA } from '../../support/orders.ts';

const named = (name: string) => ({ name, book: createOrderBook({ chainId: SEPOLIA, store: memoryStore() }) });

test('metrics of books that are added later join those of the registry, each book once', async () => {
  const registry = new Registry();
  const first = named('first');
  await instrumentBooks(registry, [first]);
  const second = { ...named('second'), chain: { up: true, lag: 3 } };
  await instrumentBooks(registry, [first, second]);
  first.book.reportError(new Error('once'));
  second.book.reportError(new Error('once'));
  const text = await registry.metrics();
  expect(text).toContain('intentbook_failures_total{book="first"} 1');
  expect(text).toContain('intentbook_failures_total{book="second"} 1');
  expect(text).toContain('intentbook_chain_up{book="second"} 1');

  registry.clear();
  await instrumentBooks(registry, [second]);
  expect(await registry.metrics()).toContain('intentbook_indexer_lag_blocks{book="second"} 3');
});

test('a registry of another kind and two books of one name are refused', async () => {
  const message = 'instrumentBooks: registry must be an object with metrics(), getSingleMetric()';
  await expect(instrumentBooks([] as never, [])).rejects.toThrow(message);
  const book = createOrderBook({ chainId: 1, store: memoryStore() });
  await expect(instrumentBooks(new Registry(), [book as never])).rejects.toThrow(
    'instrumentBooks: book must be an object with on(), got undefined',
  );
  const books = [1, 100].map((chainId) => ({ name: 'a', book: createOrderBook({ chainId, store: memoryStore() }) }));
  const repeated = 'instrumentBooks: books must have different names';
  await expect(instrumentBooks(new Registry(), books)).rejects.toThrow(new TypeError(repeated));
});
