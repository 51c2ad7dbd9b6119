import Database from 'better-sqlite3';
import { createOrderBook } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import bindings from 'secp256k1/bindings.js';
import type { MakeTrial, Sample, Subject } from '../benchmark.ts';
import { timed, times, told } from '../benchmark.ts';
import { scratchFile } from '../files.ts';
import { CHAIN_ID, type Signed, signOrders } from '../orders.ts';
import { typedData } from '../typed-data.ts';

/** Signed orders, submitted by so many at once, each acknowledged when it is on the disk. */
export const trial: MakeTrial = ({ tiny }) => {
  const submitting = (callers: number, orders: number) => async (): Promise<Subject> => {
    const count = tiny ? 2 * callers : orders;
    const book = createOrderBook({
      chainId: CHAIN_ID,
      recovery: 'native',
      store: sqliteStore({ path: scratchFile(`submit-${callers}`) }),
    });
    await book.start();
    let first = 0;
    return {
      note: 'native, synchronous=FULL',
      async round(): Promise<Sample> {
        const queue = await signOrders(`submit ${callers}`, first, count);
        first += count;
        const waits: number[] = [];
        const caller = async () => {
          for (let signed = queue.pop(); signed !== undefined; signed = queue.pop()) {
            const start = performance.now();
            const { status } = await book.orders.submit(signed.order);
            if (status !== 'accepted') throw new Error('an order was rejected');
            waits.push(performance.now() - start);
          }
        };
        const { time } = await timed(count, () => Promise.all(Array.from({ length: callers }, caller)));
        const slowest = waits.toSorted((a, b) => a - b);
        return { time, 'ms at p50': at(slowest, 0.5), 'ms at p99': at(slowest, 0.99), 'orders/s': 1e6 / time };
      },
      close: () => book.close(),
    };
  };

  return {
    title: 'submit signed orders, durably',
    subjects: {
      '1 at a time': submitting(1, 64),
      '16 at once': submitting(16, 512),
      '256 at once': submitting(256, 2048),
      'verified by viem, a commit each': async () => {
        const { recoverTypedDataAddress } = await import('viem');
        const insert = bareTable('peer');
        const count = tiny ? 2 : 32;
        let first = 0;
        return {
          async round() {
            const orders = (await signOrders('peer', first, count)).map((signed) => ({
              signed,
              typed: typedData(signed),
            }));
            first += count;
            return timed(count, async () => {
              for (const { signed, typed } of orders) {
                const signature = signed.hashed.signature as `0x${string}`; // signed
                const signer = await recoverTypedDataAddress({ ...typed, signature });
                if (signer.toLowerCase() !== signed.owner) throw new Error('an order was not recovered');
                insert([signed]);
              }
            });
          },
        };
      },
      'raw recoveries, a bare commit of 128': async () => {
        const insert = bareTable('limit');
        const count = tiny ? 2 : 1024;
        let first = 0;
        return {
          async round() {
            const orders = await signOrders('limit', first, count);
            first += count;
            return timed(count, () => {
              for (let start = 0; start < count; start += 128) {
                const group = orders.slice(start, start + 128);
                for (const { rs, recoveryId, digest } of group) bindings.ecdsaRecover(rs, recoveryId, digest, false);
                insert(group);
              }
            });
          },
        };
      },
    },
    measures: [
      {
        title: 'verified by viem, a commit each ÷ 256 at once',
        of: times('verified by viem, a commit each', '256 at once'),
        bar: { atLeast: 12 },
      },
      {
        title: 'verified by viem, a commit each ÷ 1 at a time',
        of: times('verified by viem, a commit each', '1 at a time'),
      },
      {
        title: '256 at once ÷ raw recoveries, a bare commit of 128',
        of: times('256 at once', 'raw recoveries, a bare commit of 128'),
      },
      { title: 'orders a second, 256 at once', unit: '/s', of: told('256 at once', 'orders/s') },
    ],
  };
};

/** The least that keeps an order: its UID, once, and its text. */
function bareTable(name: string): (orders: readonly Signed[]) => void {
  const database = new Database(scratchFile(name));
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec('CREATE TABLE orders (uid BLOB PRIMARY KEY, owner TEXT NOT NULL, body TEXT NOT NULL)');
  const insert = database.prepare('INSERT INTO orders VALUES (?, ?, ?)');
  return database.transaction((orders: readonly Signed[]) => {
    for (const { digest, owner, order } of orders) insert.run(digest, owner, JSON.stringify(order));
  });
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}
