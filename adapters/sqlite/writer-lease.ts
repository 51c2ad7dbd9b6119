import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { type Cancel, type Clock, StoreError } from 'intentbook';
import { getFilePath, type SqliteConnection } from './connection.ts';
import { getOwnIdentity, getProcessState, type ProcessIdentity } from './process-identity.ts';
import { prepareStatement, runInTransaction, runWithoutSync } from './session.ts';

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
    return `the file "${file}" is already open as a book of this process. Close that book first; where modules are reloaded, keep the book on globalThis`;
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
