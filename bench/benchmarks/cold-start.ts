import type { CreateBenchmark, Sample, Subject } from '../benchmark.ts';
import { divideTimes, readMeasured } from '../benchmark.ts';
import { scratchFile } from '../files.ts';
import { CHAIN_ID, type Signed, signOrders } from '../orders.ts';
import { runProgram } from '../program.ts';

/** The first steps of a program with a book, and the time of each in milliseconds. */
const FIRST_ORDER = `
  const times = {};
  let last = performance.now();
  const start = last;
  const step = (name) => {
    const now = performance.now();
    times['ms to ' + name] = now - last;
    last = now;
  };
  const { createApi, createOrderBook } = await import('intentbook');
  const { sqliteStore } = await import('intentbook/sqlite');
  step('import');
  const book = createOrderBook({ chainId: input.chainId, store: sqliteStore({ path: input.path }) });
  await book.start();
  step('start');
  const submitted = await book.orders.submit(input.order);
  step('submit');
  const request = { method: 'GET', path: '/api/v1/orders/' + submitted.uid, query: '' };
  const read = await createApi(book).handle({ ...request, header: () => undefined, body: { type: 'none' } });
  step('read');
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ ...times, all: last - start, cpu: (user + system) / 1000, status: read.status }));
  await book.close();`;

/** Imports of the peers: a framework and a client that such a program often has. */
const IMPORTS = `
  const start = performance.now();
  for (const name of input) await import(name);
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ all: performance.now() - start, cpu: (user + system) / 1000, status: 200 }));`;

interface Times extends Readonly<Record<string, number>> {
  readonly all: number;
  readonly status: number;
}

function toSample({ all, status, ...times }: Times): Sample {
  if (status !== 200) throw new Error(`the response has status ${status}`);
  return { ...times, time: all * 1000 };
}

/** The time from the first import to the first order that is stored and read, in a new process. */
export const benchmark: CreateBenchmark = () => {
  const peers = (names: readonly string[]) => async (): Promise<Subject> => ({
    round: async () => toSample(await runProgram<Times>(IMPORTS, names)),
  });
  return {
    title: 'first order in a new process',
    subjects: {
      async intentbook() {
        const path = scratchFile('cold-start');
        let first = 0;
        const start = async () => {
          const [{ order }] = (await signOrders('cold start', first++, 1)) as [Signed];
          return runProgram<Times>(FIRST_ORDER, { path, chainId: CHAIN_ID, order });
        };
        await start(); // creates the tables
        return { note: 'default options, SQLite', round: async () => toSample(await start()) };
      },
      'import of fastify and viem': peers(['fastify', 'viem']),
      'import of fastify': peers(['fastify']),
    },
    measures: [
      {
        title: 'first order stored and read ÷ import of fastify and viem',
        compute: divideTimes('intentbook', 'import of fastify and viem'),
        target: { atMost: 1 },
        reason: 'The start opens the file twice, starts the write thread and waits for its first commits.',
      },
      {
        title: 'import ÷ import of fastify',
        compute: (round) =>
          (1000 * readMeasured('intentbook', 'ms to import')(round)) / readMeasured('import of fastify', 'time')(round),
      },
      {
        title: 'processor time ÷ that of the import of fastify and viem',
        compute: (round) =>
          readMeasured('intentbook', 'cpu')(round) / readMeasured('import of fastify and viem', 'cpu')(round),
      },
    ],
  };
};
