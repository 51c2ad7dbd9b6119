import type { OrderBook } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import type { CreateBenchmark, Measure, Sample, Subject } from '../benchmark.ts';
import { quantile, readMeasured } from '../benchmark.ts';
import { createBodyCheck } from '../checks.ts';
import { copyOrderFile, scratchFile } from '../files.ts';
import { collectGarbage } from '../gc.ts';
import type { Signed } from '../orders.ts';
import { CHAIN_ID, signOrders } from '../orders.ts';
import { createGetRequest, createUidPicker, requestBytes, runAtRate } from '../stats.ts';

/** Share of the maximum rate of submissions that runs beside the reads. */
const LOAD = 0.7;
/** Milliseconds between the starts of two reads. */
const READ_INTERVAL = 5;

/**
 * Waits under load. Reads and submissions start at fixed times, so that a blocked event loop counts as a wait of each
 * operation that it delays.
 */
export const benchmark: CreateBenchmark = ({ tiny, orders }) => {
  const reads = (writeThread: boolean) => async (): Promise<Subject> => {
    const count = Math.min(100_000, orders.at(-1) ?? 0);
    const path = await copyOrderFile(count, `latency-${writeThread}`);
    const book = await openBook(path, writeThread);
    const api = createApi(book);
    const pick = createUidPicker(count, 1);
    const checkBody = createBodyCheck();
    const seed = `latency ${writeThread}`;
    let first = 0;
    const sign = async (size: number) => {
      const signed = await signOrders(seed, first, size);
      first += size;
      return signed;
    };
    const maximum = await measureMaximum(book, await sign(tiny ? 64 : 2048));
    return {
      note: `native, synchronous=FULL, ${writeThread ? 'write thread' : 'no thread'}`,
      async round() {
        const rate = maximum * LOAD;
        const queue = await sign(tiny ? 16 : Math.ceil(rate * 1000));
        const duration = queue.length / rate;
        const requests = Array.from({ length: Math.ceil(duration / READ_INTERVAL) }, () => {
          const uids = pick();
          return { uids, request: createGetRequest(`/api/v1/orders/${uids[0]}`) };
        });
        const waits: number[] = [];
        collectGarbage();
        await Promise.all([
          runAtRate(queue.length, 1 / rate, (i) => submit(book, queue[i])),
          runAtRate(requests.length, READ_INTERVAL, async (i, due) => {
            const next = requests[i];
            if (next === undefined) throw new Error('there are too few requests');
            const body = await requestBytes(api, next.request);
            waits.push(performance.now() - due);
            checkBody(body, next.uids);
          }),
        ]);
        return toSample(waits);
      },
      close: () => book.close(),
    };
  };

  const stream = (number: number) => async (): Promise<Subject> => {
    const book = await openBook(scratchFile(`latency-stream-${number}`), false);
    const subscribers = await Promise.all(
      Array.from({ length: tiny ? 10 : number }, () => book.orders.rendered.stream({})),
    );
    /** When the submission of each order was acknowledged, in the order of the log. */
    const acknowledged: number[] = [];
    const waits: number[] = [];
    let missing = 0;
    let done = () => {};
    for (const events of subscribers) {
      void (async () => {
        let received = 0;
        for await (const event of events) {
          // The event may arrive before the submission continues.
          const now = performance.now();
          waits.push(Math.max(0, now - (acknowledged[received++] ?? now)));
          if (event.type !== 'item') throw new Error(`the stream must send orders, got ${event.type}`);
          if (--missing === 0) done();
        }
      })();
    }
    let first = 0;
    return {
      note: `${subscribers.length} subscribers in process, SQLite`,
      async round() {
        const signed = await signOrders(`stream ${number}`, first, tiny ? 2 : 20);
        first += signed.length;
        waits.length = 0;
        missing = signed.length * subscribers.length;
        const finished = new Promise<void>((resolve) => {
          done = resolve;
        });
        await runAtRate(signed.length, 50, async (i) => {
          await submit(book, signed[i]);
          acknowledged.push(performance.now());
        });
        await finished;
        return toSample(waits);
      },
      close: () => book.close(),
    };
  };

  const p99 = (subject: string, title: string, atMost?: number): Measure => ({
    title,
    compute: readMeasured(subject, 'ms at p99'),
    unit: ' ms',
    ...(atMost === undefined ? {} : { target: { atMost } }),
    reason: 'Subscribers receive an event in turn, in one event loop: each is woken, and waits again.',
  });
  return {
    title: 'waits under load',
    rounds: 7,
    subjects: {
      'reads, no thread': reads(false),
      'reads, write thread': reads(true),
      stream: stream(1000),
      'stream, 10,000 subscribers': stream(10_000),
    },
    measures: [
      p99('reads, write thread', 'read of one order beside submissions at 70 % of the maximum, 99th percentile', 10),
      p99('reads, no thread', 'the same without a write thread, 99th percentile'),
      p99('stream', 'commit to subscriber of 1,000, 99th percentile', 2),
      p99('stream, 10,000 subscribers', 'commit to subscriber of 10,000, 99th percentile', 20),
    ],
  };
};

async function openBook(path: string, writeThread: boolean): Promise<OrderBook> {
  const book = createOrderBook({ chainId: CHAIN_ID, recovery: 'native', store: sqliteStore({ path, writeThread }) });
  await book.start();
  return book;
}

async function submit(book: OrderBook, signed: Signed | undefined): Promise<void> {
  if (signed === undefined) return;
  const { status } = await book.orders.submit(signed.order);
  if (status !== 'accepted') throw new Error('an order was rejected');
}

/** Returns the submissions per millisecond of 256 concurrent callers. */
async function measureMaximum(book: OrderBook, queue: Signed[]): Promise<number> {
  const count = queue.length;
  const start = performance.now();
  const caller = async () => {
    for (let signed = queue.pop(); signed !== undefined; signed = queue.pop()) await submit(book, signed);
  };
  await Promise.all(Array.from({ length: 256 }, caller));
  return count / (performance.now() - start);
}

function toSample(waits: readonly number[]): Sample {
  return {
    time: quantile(waits, 0.5) * 1000,
    'ms at p50': quantile(waits, 0.5),
    'ms at p99': quantile(waits, 0.99),
  };
}
