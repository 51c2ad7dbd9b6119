import { createOrderBook } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import type { CreateBenchmark } from '../benchmark.ts';
import { measureTime, readMeasured } from '../benchmark.ts';
import { orderFile } from '../files.ts';
import { CHAIN_ID } from '../orders.ts';

/** The cut of an auction from all open orders of a book. */
export const benchmark: CreateBenchmark = ({ orders }) => {
  const count = orders[0] ?? 0;
  return {
    title: `auction cut of ${count} open orders`,
    rounds: 7,
    subjects: {
      async SQLite() {
        const path = await orderFile(count, 'auction');
        return {
          note: 'no prices, no chain',
          // Each round opens the book, because only the first cut reads all orders.
          async round() {
            const book = createOrderBook({ chainId: CHAIN_ID, store: sqliteStore({ path }) });
            await book.start();
            const first = await measureTime(1, async () => {
              const auction = await book.auctions.current();
              if (auction.orders.length !== count) throw new Error('the auction has too few orders');
            });
            const again = await measureTime(1, () => book.auctions.current(), { repetitions: 5 });
            await book.close();
            return { time: first.time, 'ms first': first.time / 1000, 'ms repeated': again.time / 1000 };
          },
        };
      },
    },
    measures: [
      { title: 'first cut', unit: ' ms', compute: readMeasured('SQLite', 'ms first'), limit: { atMost: 50 } },
      { title: 'repeated cut', unit: ' ms', compute: readMeasured('SQLite', 'ms repeated'), limit: { atMost: 1 } },
    ],
  };
};
