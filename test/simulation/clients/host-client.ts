import type { OrderBook } from 'intentbook';
import type { Interval, ReadCheck } from '../checks/read-check.ts';
import type { Report } from '../checks/store-observer.ts';
import type { TransactionCheck } from '../checks/transaction-check.ts';
import type { BookProcess } from '../machine/book-process.ts';
import type { VirtualProcess } from '../machine/process.ts';
import type { Pool } from '../orders/pool.ts';
import type { Operation } from '../plan/plan.ts';
import type { HostDatabase, HostTransaction } from '../storages/host-database.ts';

/** The application that has embedded a book: submits orders within its own transactions. */
export interface HostClient {
  run(operation: Operation & { readonly kind: 'transaction' }, at: BookProcess): Promise<string>;
}

export interface HostClientContext {
  readonly pool: Pool;
  readonly host: HostDatabase | undefined;
  readonly transactions: TransactionCheck;
  readonly reads: ReadCheck;
  readonly report: Report;
  /** Whether no fault was in effect for a number of milliseconds. */
  readonly isQuiet: (ms: number) => boolean;
  /** Returns the id of the newest log entry. */
  readonly getLogEnd: () => number;
  /** Ends the process of the application. */
  readonly kill: (process: VirtualProcess) => void;
  readonly submit: (orders: readonly number[], book: OrderBook, transaction: unknown) => Promise<string[]>;
  /** Runs a read, which must not find what is not committed. */
  readonly read: (operation: Operation, at: BookProcess) => void;
  /** Checks that an accepted order was stored by this process in an interval. */
  readonly checkAccepted: (order: number, interval: Interval, process: string) => void;
}

/** Milliseconds without a fault after which no call is late any more. */
const QUIET_TIME = 10_000;

export function createHostClient(context: HostClientContext): HostClient {
  const { pool, host, transactions, reads, report, submit } = context;
  /** The orders in the table of the application. */
  let invoices: string[] = [];
  const wait = ({ clock }: VirtualProcess, ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));

  /** Reads orders, their lists and the auction, as other callers do. */
  function readAll(orders: readonly number[], at: BookProcess): void {
    context.read({ kind: 'getMany', orders }, at);
    context.read({ kind: 'auction' }, at);
    for (const order of orders) {
      context.read({ kind: 'http', order }, at);
      context.read({ kind: 'list', signer: pool.orders[order]?.signer ?? 0 }, at);
    }
  }

  /** Submits orders, and adds each accepted one to the table of the application. */
  async function invoice(orders: readonly number[], at: BookProcess, { handle, exec }: HostTransaction) {
    at.submissions++;
    const codes = await submit(orders, at.book, handle);
    at.submissions--;
    const added = transactions.listAdded(handle);
    for (const [i, n] of orders.entries()) {
      const uid = pool.orders[n]?.uid ?? '';
      if (codes[i] !== 'accepted') continue;
      if (!added.includes(uid)) report('transactions', `order ${n} is accepted, but has not joined the transaction`);
      await exec(`INSERT INTO invoices VALUES ('${uid}')`);
    }
    readAll(orders, at);
    return codes;
  }

  /** Checks that listeners receive the events of a commit without another write. */
  async function requireEvents(at: BookProcess, noticeTime: number): Promise<void> {
    const last = context.getLogEnd();
    const wasQuiet = context.isQuiet(QUIET_TIME);
    await wait(at.process, noticeTime);
    if (wasQuiet && context.isQuiet(QUIET_TIME) && at.position < last)
      report('transactions', `${at.process.name} is at entry ${at.position} after the commit of entry ${last}`);
  }

  return {
    async run({ steps, ending, delays }, at) {
      const { process } = at;
      const transaction = await host?.begin(process);
      if (host === undefined || transaction === undefined) return 'busy';
      const { handle, exec } = transaction;
      transactions.begin(handle, process);
      const end = reads.mark(process);
      const results: string[] = [];
      for (const [i, step] of steps.entries()) {
        await wait(process, delays[i] ?? 0);
        if (step.kind === 'submit') results.push(...(await invoice(step.orders, at, transaction)));
        else if (step.kind === 'savepoint') {
          await exec('SAVEPOINT host');
          transactions.savepoint(handle);
        } else if (step.kind === 'release') {
          await exec('RELEASE host');
          transactions.release(handle);
        } else {
          await exec('ROLLBACK TO host; RELEASE host');
          transactions.rollBackTo(handle);
        }
      }
      await wait(process, delays[steps.length] ?? 0);
      if (ending === 'kill') {
        context.kill(process);
        return 'killed';
      }
      const added = transactions.listAdded(handle);
      await transaction.end(ending);
      await transactions.end(handle, ending, process.name);
      if (ending === 'COMMIT') {
        const interval = end();
        invoices = [...invoices, ...added];
        for (const uid of added) context.checkAccepted(pool.byUid.get(uid)?.index ?? -1, interval, process.name);
      }
      const stored = await transaction.listInvoices();
      if (stored.sort().join() !== [...invoices].sort().join())
        report('transactions', `the application has ${stored.length} rows after ${ending}, not ${invoices.length}`);
      const submitted = steps.flatMap((step) => (step.kind === 'submit' ? step.orders : []));
      readAll([...new Set(submitted)], at);
      if (ending === 'COMMIT') await requireEvents(at, host.noticeTime);
      return `${ending} ${results.join()}`;
    },
  };
}
