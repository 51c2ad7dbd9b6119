import type { CreateBenchmark, Subject } from '../benchmark.ts';
import { readMeasured } from '../benchmark.ts';
import { scratchFile } from '../files.ts';
import { CHAIN_ID, type Signed, signOrders } from '../orders.ts';
import { runProgram } from '../program.ts';

const BOOKS = 12;

/** Opens books, stores an order in each, and measures the idle process. */
const PROGRAM = `
  const { createOrderBook } = await import('intentbook');
  const { sqliteStore } = await import('intentbook/sqlite');
  const start = performance.now();
  const books = [];
  let orders = 0;
  for (const path of input.paths) {
    const book = createOrderBook({ chainId: input.chainId, store: sqliteStore({ path }) });
    await book.start();
    const { status } = await book.orders.submit(input.order);
    if (status === 'accepted') orders++;
    books.push(book);
  }
  const ms = performance.now() - start;
  gc();
  const wait = () => new Promise((resolve) => setTimeout(resolve, input.idle));
  await wait(); // for work that follows the start
  const before = process.cpuUsage();
  const since = performance.now();
  await wait();
  const { user, system } = process.cpuUsage(before);
  const share = (user + system) / 1000 / (performance.now() - since);
  const MB = process.memoryUsage().rss / 1e6;
  await Promise.all(books.map((book) => book.close()));
  console.log(JSON.stringify({ ms, MB, percent: 100 * share, orders }));`;

/** Several books in one process: their memory, and the processor time of the idle process. */
export const benchmark: CreateBenchmark = ({ tiny }) => {
  const open = (count: number) => async (): Promise<Subject> => {
    let runs = 0;
    const [{ order }] = (await signOrders('books', 0, 1)) as [Signed];
    return {
      note: 'default options, SQLite',
      async round() {
        const paths = Array.from({ length: count }, (_, i) => scratchFile(`books-${count}-${runs}-${i}`));
        runs++;
        const input = { paths, chainId: CHAIN_ID, order, idle: tiny ? 20 : 3000 };
        const { ms, orders, ...sample } = await runProgram<Record<'ms' | 'MB' | 'percent' | 'orders', number>>(
          PROGRAM,
          input,
        );
        if (orders !== count) throw new Error(`${orders} of ${count} orders were accepted`);
        return { ...sample, time: (ms * 1000) / count };
      },
    };
  };
  return {
    title: `${BOOKS} books in one process`,
    rounds: 5,
    subjects: { 'one book': open(1), [`${BOOKS} books`]: open(BOOKS) },
    measures: [
      {
        title: `resident memory of ${BOOKS} books ÷ that of one`,
        compute: (round) => readMeasured(`${BOOKS} books`, 'MB')(round) / readMeasured('one book', 'MB')(round),
        target: { atMost: 1.6 },
        reason: 'Each book has two connections to its file, with prepared statements.',
      },
      {
        title: `idle processor time of ${BOOKS} books, share of a core`,
        compute: readMeasured(`${BOOKS} books`, 'percent'),
        unit: '%',
        target: { atMost: 0.5 },
        reason: 'Each book looks for expired orders once a second, and renews its lease every 2.5 seconds.',
      },
      { title: 'resident memory of one book', compute: readMeasured('one book', 'MB'), unit: ' MB' },
    ],
  };
};
