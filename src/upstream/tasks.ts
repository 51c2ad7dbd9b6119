import type { Clock } from '../ports/clock.ts';
import type { OrderInsert, Store } from '../ports/store.ts';
import type { Task, TaskChange } from '../ports/task-store.ts';
import type { UpstreamOrderStatus } from '../ports/upstream.ts';
import type { Hex } from '../protocol/hex.ts';

/** The state of an order on its way to the other book. */
export type RelayState =
  /** It waits for its turn: the other book does not have it. Only with `relay: 'queue'`. */
  | 'queued'
  | 'sending'
  /** It was sent, and no answer proves whether the other book has it. It is looked up by its UID. */
  | 'unknown'
  /** The other book does not have it, and receives no further request. */
  | 'rejected';

/** An order on its way to the other book, by UID. */
export interface RelayTask {
  readonly state: RelayState;
  readonly insert: OrderInsert;
  /** The quote of the other book that the order names. */
  readonly quoteId?: number;
  /** When this book received it, in milliseconds since 1970. */
  readonly since: number;
  /** When it was sent last, in milliseconds since 1970. */
  readonly sentAt?: number;
  /** Number of times it was sent. */
  readonly sent: number;
  /** Number of reads since then that did not find it. */
  readonly misses: number;
  /** The last reason for the state, with the code of the other book if there is one. */
  readonly reason?: string;
  readonly code?: string;
  /** Whether it was queued: stored here before it was sent. */
  readonly queued?: boolean;
  /** Whether an earlier request may still arrive: what the other book has answered since proves nothing about it. */
  readonly mayArrive?: boolean;
  /** Whether its owner has taken it back, and it still has to be cancelled here. */
  readonly withdrawn?: boolean;
}

/** Returns whether the other book may receive an order, or may have received it. */
export const isOnItsWay = ({ state }: Pick<RelayTask, 'state'>) => state !== 'rejected';

/** A cancellation whose outcome is not known, by its signature. */
export interface CancellationTask {
  readonly request: Readonly<Record<string, unknown>>;
  readonly uids: readonly Hex[];
  readonly since: number;
  readonly sent: number;
}

/** An order that is followed, by UID. */
export interface OrderTask {
  /** Whether its owner can cancel it off chain, which only the other book knows. */
  readonly ecdsa: boolean;
  /** When the newest read that counts was sent, in milliseconds since 1970. */
  readonly readAt?: number;
  /** The status in that read. */
  readonly status?: UpstreamOrderStatus;
  /** Number of successive reads that did not contain it. Absence is never evidence. */
  readonly misses?: number;
  /** When it was first seen as ended in this way, in milliseconds since 1970. */
  readonly endedAt?: number;
  /** How it has ended, as `describeEnd` renders it. */
  readonly end?: string;
  /** The sold amount in that read, and when its trades are compared again, in milliseconds since 1970. */
  readonly sold?: string;
  readonly tradesDue?: number;
  /** Since when reads show less than this book knows, in milliseconds since 1970. */
  readonly disputedAt?: number;
}

/** An order whose end is confirmed and that is not read any more, by UID. It is due when its validity is over. */
export interface EndedTask {
  /** How it has ended, as `describeEnd` renders it. A later change is not confirmed. */
  readonly end: string;
}

/** The import of an owner, by address. */
export interface OwnerTask {
  /** Trades are imported first, so that no filled order is stored as open. */
  readonly phase: 'trades' | 'orders' | 'current';
  /** Number of rows that have been read. */
  readonly offset: number;
  /** The first row of a page at least: the one before it was left out. */
  readonly floor?: number;
  /** The last row that was read: the next page must contain it. */
  readonly last?: string;
  readonly limit: number;
  /** When the last pass began, in milliseconds since 1970. */
  readonly began?: number;
  /** The pass ends at an order that is older, in milliseconds since 1970. Absent: it reads all. */
  readonly since?: number;
  /** When the newest page was read last, and not the short one, in milliseconds since 1970. */
  readonly wholeAt?: number;
  /** Number of rows that could not be read. */
  readonly skipped: number;
  readonly orders: number;
  readonly trades: number;
}

/** The quote of the other book to which a quote of this one belongs, by the id of this one. */
export interface QuoteTask {
  readonly id: number;
  /** The book that has assigned the id: each has its own counter. */
  readonly upstream: string;
}

/** The orders of an owner that wait for each other, by address. */
export interface LaneTask {
  readonly uids: readonly Hex[];
}

/** When this book began to read the chain, and the first block after its history. */
export interface BeginningTask {
  readonly block: number;
}

/** A task without a value: app data that is followed. */
export type EmptyTask = Readonly<Record<string, never>>;

interface TaskValues {
  readonly relay: RelayTask;
  readonly cancellation: CancellationTask;
  readonly order: OrderTask;
  readonly ended: EndedTask;
  readonly owner: OwnerTask;
  readonly quote: QuoteTask;
  readonly lane: LaneTask;
  readonly beginning: BeginningTask;
  /** By hash. */
  readonly appData: EmptyTask;
}
export type TaskKind = keyof TaskValues;

/** A task with its parsed value. */
export interface Followed<K extends TaskKind> extends Pick<Task, 'key' | 'due' | 'version'> {
  readonly value: TaskValues[K];
}

/** The tasks of a book with an upstream, with their values parsed. */
export type Tasks = ReturnType<typeof createTasks>;

export function createTasks({ tasks }: Pick<Store, 'tasks'>) {
  const parse = ({ key, due, version, value }: Task) => ({ key, due, version, value: JSON.parse(value) }); // as below
  return {
    get: async <K extends TaskKind>(kind: K, keys: readonly string[]): Promise<Followed<K>[]> =>
      keys.length === 0 ? [] : (await tasks.get(kind, keys)).map(parse),
    due: async <K extends TaskKind>(kind: K, before: number, limit: number): Promise<Followed<K>[]> =>
      (await tasks.due(kind, before, limit)).map(parse),
    count: tasks.count,
    /** Writes changes. Returns whether each was made. */
    write: async (changes: readonly TaskChange[]): Promise<boolean[]> =>
      changes.length === 0 ? [] : tasks.write(changes),
  };
}

/** Returns the change that writes a task. @param version - 0: the task must not exist. Absent: it is not compared. */
export function put<K extends TaskKind>(
  kind: K,
  key: string,
  due: number,
  value: TaskValues[K],
  version?: number,
): TaskChange {
  return { kind, key, to: { due, value: JSON.stringify(value) }, ...(version === undefined ? {} : { version }) };
}

/** Returns the change that deletes a task. */
export function drop(
  kind: TaskKind,
  { key, version }: { readonly key: string; readonly version?: number },
): TaskChange {
  return { kind, key, to: null, ...(version === undefined ? {} : { version }) };
}

/**
 * Makes tasks due now. Those that do not exist get a value. One that is changed meanwhile is tried again: the read that
 * changed it may have begun before.
 */
export async function makeDue<K extends TaskKind>(
  { tasks, clock }: { readonly tasks: Tasks; readonly clock: Clock },
  kind: K,
  keys: readonly string[],
  fresh: TaskValues[K],
): Promise<void> {
  for (let left = [...new Set(keys)]; left.length > 0; ) {
    const known = new Map((await tasks.get(kind, left)).map((task) => [task.key, task]));
    const isWritten = await tasks.write(
      left.map((key) => {
        const { value = fresh, version = 0 } = known.get(key) ?? {};
        return put(kind, key, clock.now(), value, version);
      }),
    );
    left = left.filter((_, i) => isWritten[i] !== true);
  }
}
