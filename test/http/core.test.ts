import { createApi, createOrderBook, systemClock } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { SEPOLIA } from '../support/orders.ts';
import { SUITE_QUOTES } from './cases/quoting.ts';
import { HTTP_CASES } from './suite.ts';
import { directWorld } from './world.ts';

describe('the HTTP core over the memory store', () => {
  const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), quotes: SUITE_QUOTES });
  const faults: unknown[] = [];
  book.on('fault', (fault) => faults.push(fault));
  beforeAll(() => book.start());
  afterAll(async () => {
    await book.close();
    if (faults.length > 0) throw faults[0];
  });

  const world = directWorld(createApi(book), () => Math.floor(systemClock.now() / 1000));
  for (const { name, run } of HTTP_CASES) test(name, () => run(world));
});
