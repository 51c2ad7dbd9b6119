import type { InsertOutcome, OrderInsert } from 'intentbook';
import type { VirtualProcess } from '../machine/process.ts';
import { isLockTimeout } from '../ports/call-runner.ts';
import type { Report, StoreObserver } from './store-observer.ts';

/** Follows the inserts that join transactions of the application, which exist only after the commit. */
export interface TransactionCheck {
  /** Called before inserts join a transaction, which locks their owners. */
  onJoin(handle: unknown, inserts: readonly OrderInsert[]): void;
  onJoined(handle: unknown, inserts: readonly OrderInsert[], outcomes: readonly InsertOutcome[]): void;
  /** Called when the store has failed to join. */
  onFailed(handle: unknown, failure: unknown): void;
  /** Whether a transaction is open that has locked one of these owners. Absent: any owner. */
  hasLocked(owners?: readonly string[]): boolean;
  begin(handle: unknown, process: VirtualProcess): void;
  savepoint(handle: unknown): void;
  /** Forgets the inserts since the last savepoint. */
  rollBackTo(handle: unknown): void;
  release(handle: unknown): void;
  /** Ends a transaction. A committed one is one step of the store. */
  end(handle: unknown, ending: 'COMMIT' | 'ROLLBACK', process: string): Promise<void>;
  /** Returns the orders that a transaction would add. */
  listAdded(handle: unknown): string[];
}

interface OpenTransaction {
  /** A transaction ends with its process. */
  readonly process: VirtualProcess;
  readonly owners: Set<string>;
  /** The inserts since the begin and since each savepoint. */
  readonly levels: Joined[][];
}

interface Joined {
  readonly insert: OrderInsert;
  readonly outcome: InsertOutcome;
}

/** @param observer - Follows the committed inserts. */
export function createTransactionCheck({
  observer,
  report,
}: {
  readonly observer: Pick<StoreObserver, 'onInsert'>;
  readonly report: Report;
}): TransactionCheck {
  const open = new Map<unknown, OpenTransaction>();
  const levels = (handle: unknown) => open.get(handle)?.levels ?? [];

  return {
    begin: (handle, process) => void open.set(handle, { process, owners: new Set(), levels: [[]] }),
    hasLocked: (owners) =>
      [...open.values()].some(
        (each) => !each.process.isDead && (owners?.some((owner) => each.owners.has(owner)) ?? each.owners.size > 0),
      ),
    onJoin(handle, inserts) {
      for (const { order } of inserts) open.get(handle)?.owners.add(order.owner);
    },
    onJoined(handle, inserts, outcomes) {
      const level = levels(handle).at(-1);
      if (level === undefined) return report('transactions', 'an insert has joined a transaction that has ended');
      for (const [i, insert] of inserts.entries()) {
        const outcome = outcomes[i];
        if (outcome !== undefined) level.push({ insert, outcome });
      }
    },
    onFailed(handle, failure) {
      if (open.has(handle) && !isLockTimeout(failure))
        report('transactions', `an insert cannot join a transaction: ${String(failure)}`);
    },
    savepoint: (handle) => void levels(handle).push([]),
    rollBackTo: (handle) => void levels(handle).pop(),
    release(handle) {
      const [inner = [], outer] = [levels(handle).pop(), levels(handle).at(-1)];
      outer?.push(...inner);
    },
    listAdded: (handle) =>
      levels(handle)
        .flat()
        .flatMap(({ insert, outcome }) => (outcome.status === 'inserted' ? [insert.order.uid] : [])),
    async end(handle, ending, process) {
      const joined = levels(handle).flat();
      open.delete(handle);
      if (ending === 'ROLLBACK' || joined.length === 0) return;
      const inserts = joined.map(({ insert }) => insert);
      const outcomes = joined.map(({ outcome }) => outcome);
      await observer.onInsert(process, inserts, outcomes);
    },
  };
}
