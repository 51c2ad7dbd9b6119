import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Cancel, Clock } from 'intentbook';
import { StoreError } from 'intentbook';
import type { SqliteConnection } from './connection.ts';
import type { ProcessIdentity } from './process-identity.ts';
import { getOwnIdentity, isRunning } from './process-identity.ts';
import { prepare, transact } from './session.ts';

/** How long a lease lasts without being renewed, in milliseconds. */
export const LEASE_TTL = 10_000;

const RENEW_EVERY = LEASE_TTL / 4;

/** The right of one process to write. */
export interface Lease {
  /** Within the transaction that it protects: throws `WriterLost` when somebody else has become the writer. */
  assertHeld(): void;
  /** Throws when the last renewal has failed, as it does on a full disk. */
  assertRenewed(): void;
  /** Whether nobody else can have become the writer yet: the lease, as it was last renewed, has not run out. */
  isSure(): boolean;
  /** From now on the lease is renewed, until it is released. */
  keep(): void;
  release(): void;
}

/** Tokens of the leases that this process holds. Global, because two copies of this module may be loaded. */
const held = registry();

/**
 * Takes the lease, within a transaction. One that is held by a process that is gone from this host is taken over at
 * once, any other when it has not been renewed for its time to live.
 *
 * @throws StoreError `WriterActive` naming the process that holds it.
 */
export function takeLease({ database, prefix: p }: SqliteConnection, clock: Clock): Lease {
  const token = randomUUID();
  const { pid, started } = getOwnIdentity();
  const holder = prepare(database, `SELECT token, host, pid, started, expires FROM ${p}lease`);
  const ours = prepare(database, `SELECT 1 FROM ${p}lease WHERE token = ?`).pluck();
  const renewal = prepare(database, `UPDATE ${p}lease SET expires = ? WHERE token = ?`);

  const current = holder.get() as Holder | undefined; // the columns selected
  if (current !== undefined && isActive(current, clock.now())) {
    throw new StoreError(
      'WriterActive',
      `this store has a writer already: process ${current.pid} on host ${current.host}. ` +
        'An SQLite store takes one; close that one first',
    );
  }
  prepare(
    database,
    `INSERT OR REPLACE INTO ${p}lease (id, token, host, pid, started, expires) VALUES (1, ?, ?, ?, ?, ?)`,
  ).run(token, hostname(), pid, started, clock.now() + LEASE_TTL);
  held.add(token);

  let expires = clock.now() + LEASE_TTL;
  let lost = false;
  let failure: StoreError | undefined;
  let cancel: Cancel = () => {};

  function renew(): void {
    try {
      // While the host has a transaction open, ours has to wait; nobody else can write either.
      if (!database.inTransaction) {
        const next = clock.now() + LEASE_TTL;
        const { changes } = transact(database, 'renew its lease', () => renewal.run(next, token));
        lost = changes === 0;
        if (!lost) expires = next;
      }
      failure = undefined;
    } catch (error) {
      if (error instanceof StoreError) failure = error;
    }
    if (lost) held.delete(token);
    else keep();
  }

  function keep(): void {
    cancel = clock.after(RENEW_EVERY, renew);
  }

  return {
    assertHeld() {
      if (ours.get(token) === undefined) {
        throw new StoreError('WriterLost', 'another process has become the writer of this store; open it again');
      }
    },
    assertRenewed() {
      if (failure !== undefined) throw failure;
    },
    isSure: () => !lost && clock.now() < expires,
    keep,
    release() {
      cancel();
      held.delete(token);
      if (!database.open || database.inTransaction) return; // it runs out by itself
      transact(database, 'release its lease', () =>
        prepare(database, `DELETE FROM ${p}lease WHERE token = ?`).run(token),
      );
    },
  };
}

interface Holder extends ProcessIdentity {
  readonly token: string;
  readonly host: string;
  readonly expires: number;
}

function isActive(holder: Holder, now: number): boolean {
  if (holder.expires <= now) return false;
  if (holder.host !== hostname()) return true;
  const own = getOwnIdentity();
  if (holder.pid !== own.pid) return isRunning(holder);
  if (held.has(holder.token)) return true;
  // Our own number, but not our lease: a thread of this process has its own registry and the same start, while what a
  // container left behind before it was restarted, often under the same number, has another start.
  return own.started !== null && holder.started === own.started;
}

function registry(): Set<string> {
  const key = Symbol.for('intentbook.sqlite.leases');
  const global = globalThis as { [key]?: Set<string> }; // a place of our own, under a symbol of our own
  global[key] ??= new Set();
  return global[key];
}
