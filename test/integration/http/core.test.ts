import { createApi, createOrderBook, systemClock } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SEPOLIA } from '../../support/orders.ts';
import { SUITE_QUOTES } from './cases/quoting.ts';
import { covered, described } from './described.ts';
import { directFixture } from './http-fixture.ts';
import { HTTP_CASES } from './suite.ts';

describe('HTTP core over the memory store', () => {
  const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), quotes: SUITE_QUOTES });
  const failures: unknown[] = [];
  book.on('failure', (failure) => failures.push(failure));
  beforeAll(() => book.start());
  afterAll(async () => {
    await book.close();
    if (failures.length > 0) throw failures[0];
  });

  const fixture = described(directFixture(createApi(book), () => Math.floor(systemClock.now() / 1000)));
  for (const { name, run } of HTTP_CASES) test(name, () => run(fixture));

  test('HTTP core responses match the OpenAPI document', () => {
    expect(covered.size).toBeGreaterThan(50);
  });
});
