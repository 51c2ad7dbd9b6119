import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { type AccountStore, type Cancel, type Clock, type Store, StoreError } from 'intentbook';
import type { StoreOperations } from 'intentbook/store-kit';
import { getFilePath, type SqliteConnection } from './connection.ts';
import {
  isDamage,
  prepareStatement,
  type SqliteDatabase,
  type SqliteStatement,
  toStoreError,
} from './database-driver.ts';
import { getOwnIdentity, getProcessState, type ProcessIdentity } from './process-identity.ts';

/** Database access for the tables of the store: statements and transactions that only the current writer can commit. */
export type SqliteSession = ReturnType<typeof openSession>;

export type BookOperations = StoreOperations<Store>;
export type AccountOperations = StoreOperations<AccountStore>;

/** @param assertHeld - Throws if this process is no longer the writer. */
export function openSession(
  { database, prefix, own }: { database: SqliteDatabase; prefix: string; own: boolean },
  assertHeld: () => void,
) {
  let damage: StoreError | undefined;

  /** Throws if an earlier operation has found the file damaged. The store writes no more until it is opened again. */
  function assertIntact(): void {
    if (damage === undefined) return;
    throw new StoreError('Unavailable', `${damage.message}; restore a backup`, { cause: damage.cause });
  }

  /** Runs an operation and remembers that the file is damaged. A write could damage it further, or be lost. */
  function watch<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      if (error instanceof StoreError && isDamage(error)) damage ??= error;
      throw error;
    }
  }

  function assertWritable(): void {
    assertIntact();
    assertHeld();
  }

  const transact = <T>(operation: string, work: () => T): T =>
    runInTransaction(database, operation, () => {
      assertWritable();
      return work();
    });

  return {
    prefix,
    assertIntact,
    prepare: (sql: string): SqliteStatement => prepareStatement(database, sql),
    read: <T>(operation: string, work: () => T): T =>
      watch(() => {
        try {
          return work();
        } catch (cause) {
          throw toStoreError(operation, cause, database.name);
        }
      }),
    /** Runs `work` in its own durable transaction. */
    write: <T>(operation: string, work: () => T): T => watch(() => transact(operation, work)),
    /** Runs `work` in its own transaction, which a power failure may undo although it has returned. */
    writeWithoutSync: <T>(operation: string, work: () => T): T =>
      watch(() => runWithoutSync(database, () => transact(operation, work))),
    /** Runs `work` inside the open transaction of the host. If it fails, all of it is rolled back. */
    join<T>(operation: string, transaction: unknown, work: () => T): T {
      if (own) throw createUnsupportedError('a store on its own file has no host transaction to join');
      if (transaction !== database) {
        throw createUnsupportedError('`transaction` must be the handle that the store was created with');
      }
      if (!database.inTransaction) throw createUnsupportedError('no transaction is open on the database handle');
      return watch(() =>
        runWithin(database, operation, ['SAVEPOINT intentbook', 'RELEASE intentbook', UNDO_JOINED], () => {
          assertWritable();
          return work();
        }),
      );
    },
  };
}

/** Runs `work` in a transaction that takes the write lock at its start, so that a lock cannot make it fail halfway. */
export function runInTransaction<T>(database: SqliteDatabase, operation: string, work: () => T): T {
  if (database.inTransaction) {
    // SQLite would make the writes part of the host's transaction, which may be rolled back.
    throw new StoreError(
      'Unavailable',
      `the SQLite store cannot ${operation} while a transaction of the host is open on its handle`,
    );
  }
  return runWithin(database, operation, ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'], work);
}

/**
 * Runs a transaction whose commit does not wait for the disk. A power failure may undo it, until the next commit that
 * waits. Within a transaction of a host, SQLite rejects the setting.
 */
export function runWithoutSync<T>(database: SqliteDatabase, run: () => T): T {
  const level = database.inTransaction ? NORMAL : Number(database.pragma('synchronous', { simple: true }));
  if (level <= NORMAL) return run();
  database.pragma('synchronous = NORMAL');
  try {
    return run();
  } finally {
    database.pragma(`synchronous = ${level}`);
  }
}

/** The level of `synchronous` at which commits to a write-ahead log do not wait. */
const NORMAL = 1;

const UNDO_JOINED = 'ROLLBACK TO intentbook; RELEASE intentbook';

function runWithin<T>(
  database: SqliteDatabase,
  operation: string,
  [begin, commit, undo]: readonly [string, string, string],
  work: () => T,
): T {
  try {
    database.exec(begin);
    try {
      const result = work();
      runCommit(database, operation, commit);
      return result;
    } catch (cause) {
      // After some failures, such as a full disk, SQLite has already rolled back.
      if (database.inTransaction) database.exec(undo);
      throw cause;
    }
  } catch (cause) {
    throw toStoreError(operation, cause, database.name);
  }
}

/** SQLite's extended result code of a failed sync, SQLITE_IOERR_FSYNC. */
const SYNC_FAILED = 1034;

/**
 * Ends a transaction.
 *
 * @throws StoreError `OutcomeUnknown` if the sync failed. The log then contains the complete transaction: SQLite
 * applies it if the process ends before the next write, and otherwise overwrites it.
 */
function runCommit(database: SqliteDatabase, operation: string, commit: string): void {
  try {
    database.exec(commit);
  } catch (cause) {
    const { code, errcode } = Object(cause) as { readonly code?: unknown; readonly errcode?: unknown };
    if (code !== 'SQLITE_IOERR_FSYNC' && errcode !== SYNC_FAILED) throw cause;
    throw new StoreError(
      'OutcomeUnknown',
      `the SQLite store cannot determine the outcome of an attempt to ${operation}: the disk failed`,
      { cause },
    );
  }
}

const createUnsupportedError = (message: string) => new StoreError('Unsupported', message);

/** Lifetime of a lease without renewal, in milliseconds. */
export const LEASE_TTL = 10_000;

const RENEWAL_INTERVAL = LEASE_TTL / 4;

/** Milliseconds in which a living process renews its lease, although its clock was set back. */
const ABANDONED_AFTER = 2 * RENEWAL_INTERVAL;

/** Exclusive right of one process to write. */
export interface Lease {
  /** Throws `WriterLost` if another process has become the writer. Must run within the transaction that it protects. */
  assertHeld(): void;
  /** Throws if the last renewal failed, for example on a full disk. */
  assertRenewed(): void;
  /** Returns whether the last renewal has not expired, so that no other process can be the writer. */
  isExclusive(): boolean;
  /** Starts to renew the lease periodically, until it is released. */
  startRenewal(): void;
  release(): void;
}

/** Tokens of the leases of this process. Global, because two copies of this module may be loaded. */
const held = getTokens('intentbook.sqlite.leases');

/** Tokens of leases that were released during a transaction of the host, in which their rows were not deleted. */
const released = getTokens('intentbook.sqlite.released');

/** Leases that expire later than a new one, by token, and since when they are unchanged. */
const seen = new Map<string, { readonly expires: number; readonly since: number }>();

/**
 * Acquires the lease. Must run within a transaction. If the holding process has ended, and this process can see it, the
 * lease is taken over immediately; otherwise after it has expired. A lease that expires later than a new one was
 * written by a clock that was ahead. It is taken over if it is not renewed between two attempts to acquire it.
 *
 * @param onRenewal - Called with the time until which no other process can become the writer, in milliseconds since
 * 1970.
 * @throws StoreError `WriterActive` with the process that holds the lease.
 */
export function acquireLease(
  { database, prefix: p }: SqliteConnection,
  clock: Clock,
  onRenewal: (expires: number) => void = () => {},
): Lease {
  const token = randomUUID();
  const { host, pid, started } = getOwnIdentity();
  const holder = prepareStatement(database, `SELECT token, host, pid, started, expires FROM ${p}lease`);
  const ownLease = prepareStatement(database, `SELECT 1 FROM ${p}lease WHERE token = ?`).pluck();
  const renewal = prepareStatement(database, `UPDATE ${p}lease SET expires = ? WHERE token = ?`);

  const current = holder.get() as Holder | undefined; // the columns selected
  if (current !== undefined && isActive(current, clock.now())) {
    throw new StoreError('WriterActive', describeHolder(current, database.name));
  }
  prepareStatement(
    database,
    `INSERT OR REPLACE INTO ${p}lease (id, token, host, pid, started, expires) VALUES (1, ?, ?, ?, ?, ?)`,
  ).run(token, host, pid, started, clock.now() + LEASE_TTL);
  held.add(token);

  const files = createFileWatch(getFilePath(database));
  let expires = clock.now() + LEASE_TTL;
  onRenewal(expires);
  let lost = false;
  let failure: StoreError | undefined;
  let cancel: Cancel = () => {};

  /** Copies the deleted write-ahead log to the database file through the open handle, so that no order is lost. */
  function saveLog(): void {
    if (!database.inTransaction) prepareStatement(database, 'PRAGMA wal_checkpoint(FULL)').all();
  }

  function renew(): void {
    try {
      files.assertUnchanged(saveLog);
      // A transaction of the host delays the renewal. Only one that writes also keeps other processes out.
      if (!database.inTransaction) {
        const next = clock.now() + LEASE_TTL;
        // After a power failure, the lease that is on the disk has expired like this one.
        const { changes } = runWithoutSync(database, () =>
          runInTransaction(database, 'renew its lease', () => renewal.run(next, token)),
        );
        lost = changes === 0;
        if (!lost) {
          expires = next;
          onRenewal(expires);
        }
      }
      failure = undefined;
    } catch (error) {
      if (error instanceof StoreError) failure = error;
      if (failure?.code === 'WriterLost') lost = true;
    }
    if (lost) held.delete(token);
    else startRenewal();
  }

  function startRenewal(): void {
    cancel = clock.after(RENEWAL_INTERVAL, renew);
  }

  return {
    assertHeld() {
      if (lost && failure !== undefined) throw failure;
      if (ownLease.get(token) === undefined) {
        throw new StoreError('WriterLost', 'another process has become the writer of this store; open it again');
      }
    },
    assertRenewed() {
      if (failure !== undefined) throw failure;
    },
    isExclusive: () => !lost && clock.now() < expires,
    startRenewal() {
      files.remember();
      startRenewal();
    },
    release() {
      cancel();
      held.delete(token);
      if (!database.open || database.inTransaction) {
        released.add(token); // for other processes, the lease expires
        return;
      }
      runInTransaction(database, 'release its lease', () =>
        prepareStatement(database, `DELETE FROM ${p}lease WHERE token = ?`).run(token),
      );
    },
  };
}

interface Holder extends ProcessIdentity {
  readonly token: string;
  readonly host: string;
  readonly expires: number;
}

function describeHolder({ pid, host, started, token }: Holder, file: string): string {
  // The registry of a thread does not contain the leases of other threads.
  const own = getOwnIdentity();
  if (held.has(token) || (host === own.host && pid === own.pid && started === own.started)) {
    return `the file "${file}" is already open as a book of this process. Close that book first; where modules are reloaded, keep the book on globalThis. A worker thread that was terminated holds it for ten more seconds`;
  }
  return `the file "${file}" already has a writer: process ${pid} on host ${host}. An SQLite store allows one writer; close the other one first`;
}

function isActive(holder: Holder, now: number): boolean {
  if (holder.expires <= now || released.has(holder.token)) return false;
  // A thread of this process has its own registry of tokens, but the same identity.
  if (held.has(holder.token)) return true;
  const state = getProcessState(holder);
  return state === 'running' || (state === 'unknown' && !isAbandoned(holder, now));
}

function isAbandoned({ token, expires }: Holder, now: number): boolean {
  if (expires <= now + LEASE_TTL) return false;
  const before = seen.get(token);
  // A clock that was ahead when the lease was seen is corrected: the time begins again.
  if (before?.expires === expires && now >= before.since) return now - before.since >= ABANDONED_AFTER;
  seen.set(token, { expires, since: now });
  return false;
}

function getTokens(name: string): Set<string> {
  const key = Symbol.for(name);
  const global = globalThis as { [key]?: Set<string> }; // a private symbol key
  global[key] ??= new Set();
  return global[key];
}

/**
 * Creates a watch of the database file and its write-ahead log. A process keeps writing to a file that was deleted or
 * replaced, and every order that it acknowledges would be gone at the next start.
 *
 * @param path - Path of the database file. A database in memory has no files.
 */
function createFileWatch(path: string) {
  const names = path === '' || path === ':memory:' || path.startsWith('file:') ? [] : [path, `${path}-wal`];
  let opened: readonly (readonly [name: string, identity: string])[] = [];
  return {
    /** Remembers the files. The write-ahead log exists after the first write. */
    remember(): void {
      opened = names.flatMap((name) => {
        const identity = getIdentity(name);
        return identity === undefined ? [] : [[name, identity]];
      });
    },
    /**
     * Checks the files.
     *
     * @param onLogDeleted - Called if only the write-ahead log was deleted. Its content is still in the open file.
     * @throws StoreError `WriterLost` if a file was replaced or deleted: later writes are lost.
     */
    assertUnchanged(onLogDeleted: () => void): void {
      for (const [name, identity] of opened) {
        const now = getIdentity(name);
        if (now === identity) continue;
        const event = now === undefined ? 'deleted' : 'replaced';
        // The loop has found the database file unchanged before.
        if (event === 'deleted' && name.endsWith('-wal')) onLogDeleted();
        throw new StoreError(
          'WriterLost',
          `the file "${name}" was ${event} while it was open; stop the book and restore it`,
        );
      }
    },
  };
}

/** Returns the device and the inode of a file as text. `undefined` if it does not exist or cannot be read. */
function getIdentity(name: string): string | undefined {
  const stats = statSync(name, { throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}
