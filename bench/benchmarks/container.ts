import { writeFileSync } from 'node:fs';
import type { CreateBenchmark, Round, Subject } from '../benchmark.ts';
import { readMeasured } from '../benchmark.ts';
import { createContainer } from '../container.ts';
import { scratchFile } from '../files.ts';
import { CHAIN_ID, signOrders } from '../orders.ts';
import { runProgram } from '../program.ts';

/** Submits orders concurrently and reads them in lists, after a part of both that is not measured. */
const PROGRAM = `
  import { readFileSync } from 'node:fs';
  import { monitorEventLoopDelay } from 'node:perf_hooks';
  const { createApi, createOrderBook } = await import('intentbook');
  const { sqliteStore } = await import('intentbook/sqlite');
  const book = createOrderBook({ chainId: input.chainId, store: sqliteStore({ path: input.path }) });
  await book.start();
  const api = createApi(book);
  const queue = JSON.parse(readFileSync(input.orders, 'utf8'));
  const uids = [];
  const submit = async (count) => {
    const part = queue.splice(0, count);
    const caller = async () => {
      for (let order = part.pop(); order !== undefined; order = part.pop()) {
        const { status, uid } = await book.orders.submit(order);
        if (status === 'accepted') uids.push(uid);
      }
    };
    await Promise.all(Array.from({ length: 64 }, caller));
  };
  const read = async (count) => {
    const header = (name) => (name === 'content-type' ? 'application/json' : undefined);
    let found = 0;
    for (let i = 0; i < count; i++) {
      const list = Array.from({ length: 128 }, (_, j) => uids[(i * 37 + j) % uids.length]);
      const body = { type: 'bytes', bytes: Buffer.from(JSON.stringify(list)) };
      const path = '/api/v1/orders/by_uids';
      const response = await api.handle({ method: 'POST', path, query: '', header, body });
      if (response.status === 200 && response.body.length > 128 * 500) found++;
      await new Promise(setImmediate);
    }
    return found;
  };
  const measure = async (work) => {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    delay.disable();
    return { cpu: user + system, stall: delay.max / 1e6 };
  };
  await submit(input.warmUp);
  await read(input.reads);
  const submitted = await measure(() => submit(input.count));
  let found = 0;
  const reads = await measure(async () => void (found = await read(input.reads)));
  const MB = process.memoryUsage().rss / 1e6;
  await book.close();
  console.log(JSON.stringify({ submitted, reads, found, MB, accepted: uids.length }));`;

interface Outcome {
  /** Processor time in microseconds, and the longest delay of the event loop in milliseconds. */
  readonly submitted: { readonly cpu: number; readonly stall: number };
  readonly reads: { readonly cpu: number; readonly stall: number };
  readonly found: number;
  readonly MB: number;
  readonly accepted: number;
}

/** The same work in a small container and on the whole machine. */
export const benchmark: CreateBenchmark = ({ tiny }) => {
  const [warmUp, count, reads] = tiny ? [130, 10, 2] : [512, 2048, 1000];
  const run = (isLimited: boolean) => async (): Promise<Subject> => {
    const name = isLimited ? 'container' : 'machine';
    let runs = 0;
    return {
      note: 'default options, SQLite',
      async round() {
        using container = isLimited ? createContainer(0.5, 192 * 2 ** 20) : undefined;
        if (isLimited && container === undefined && !tiny) throw new Error('control groups must be writable');
        const signed = await signOrders(`container ${name} ${runs}`, 0, warmUp + count);
        const orders = scratchFile(`${name}-${runs}-orders`);
        writeFileSync(orders, JSON.stringify(signed.map(({ order }) => order)));
        const input = { orders, path: scratchFile(`${name}-${runs++}`), chainId: CHAIN_ID, warmUp, count, reads };
        const outcome = await runProgram<Outcome>(PROGRAM, input, container);
        if (outcome.accepted !== warmUp + count) throw new Error(`${outcome.accepted} orders were accepted`);
        if (outcome.found !== reads) throw new Error(`${outcome.found} of ${reads} lists were complete`);
        return {
          time: outcome.submitted.cpu / count,
          by_uids: outcome.reads.cpu / reads,
          'ms of stall': Math.max(outcome.submitted.stall, outcome.reads.stall),
          MB: outcome.MB,
        };
      },
    };
  };
  const compare = (measure: string) => (round: Round) =>
    readMeasured('whole machine', measure)(round) / readMeasured('small container', measure)(round);
  const reason =
    'A container that has used its 50 ms is stopped until its period of 100 ms ends, in the middle of any work. Its ' +
    'caches are cold afterwards.';
  return {
    title: 'container with half a core and 192 MiB',
    rounds: 5,
    subjects: { 'small container': run(true), 'whole machine': run(false) },
    measures: [
      {
        title: 'submissions per CPU second ÷ those of the whole machine',
        compute: compare('time'),
        target: { atLeast: 0.85 },
        reason,
      },
      {
        title: 'by_uids of 128 per CPU second ÷ those of the whole machine',
        compute: compare('by_uids'),
        target: { atLeast: 0.85 },
        reason,
      },
      {
        title: 'longest stall of the event loop',
        compute: readMeasured('small container', 'ms of stall'),
        unit: ' ms',
        target: { atMost: 50 },
        reason,
      },
      { title: 'resident memory', compute: readMeasured('small container', 'MB'), unit: ' MB' },
    ],
  };
};
