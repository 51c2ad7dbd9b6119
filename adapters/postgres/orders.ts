import type {
  Address,
  CancelOutcome,
  CancelRejection,
  CancelRequest,
  Hex,
  InsertOptions,
  InsertOutcome,
  OrderInsert,
  StoredOrder,
} from 'intentbook';
import { checkCancellable } from 'intentbook/store-kit';
import type { ReinstateOrders } from './expiry.ts';
import type { LiveCounts, PgOwnerCounts } from './owner-counts.ts';
import type { BatchState } from './plan-inserts.ts';
import { planInserts } from './plan-inserts.ts';
import type { Query } from './query.ts';
import { RetryTransaction } from './query.ts';
import type { OrderRecord, OrderRecordRow, PgOrderRow } from './rows.ts';
import { isExpiryRecorded, orderColumns, quoteColumns, readOrder, readOrderRecord, toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';
import { createBatchWriter } from './write-batch.ts';

export interface PgOrderTable {
  insert(inserts: readonly OrderInsert[], options?: InsertOptions): Promise<InsertOutcome[]>;
  get(run: Query, uids: readonly Hex[]): Promise<StoredOrder[]>;
  placed(run: Query, account: Address, uids: readonly Hex[]): Promise<Hex[]>;
  cancel(request: CancelRequest): Promise<CancelOutcome>;
}

export function createOrderTable(
  session: PostgresSession,
  owners: PgOwnerCounts,
  projectNewOrders: (run: Query, uids: readonly Hex[], at: number) => Promise<void>,
  reinstate: ReinstateOrders,
): PgOrderTable {
  const { schema: s, prepare, read, write, join } = session;
  const select = prepare<PgOrderRow>(
    `SELECT ${orderColumns(s)}, ${quoteColumns(s)} FROM ${s}.orders o WHERE o.uid = ANY($1::bytea[])`,
  );
  const find = prepare<OrderRecordRow>(
    `SELECT uid, owner, state, valid_to, signing_scheme, budget, ${isExpiryRecorded} FROM ${s}.orders ` +
      'WHERE uid = ANY($1::bytea[])',
  );
  // The chain events of a stored order are already applied.
  const selectWithEvents = prepare<readonly [uid: Hex]>(
    `SELECT DISTINCT f.uid FROM ${s}.chain_events f WHERE f.uid = ANY($1::bytea[]) ` +
      `AND NOT EXISTS (SELECT FROM ${s}.orders o WHERE o.uid = f.uid)`,
  );
  const selectPlaced = prepare<readonly [uid: Hex]>(
    `SELECT uid FROM ${s}.orders WHERE onchain_user = $1 AND uid = ANY($2::bytea[])`,
  );
  const selectTombstones = prepare<readonly [uid: Hex]>(`SELECT uid FROM ${s}.tombstones WHERE uid = ANY($1::bytea[])`);
  const apply = createBatchWriter(session);

  async function findAll(run: Query, uids: Iterable<Hex>): Promise<Map<Hex, OrderRecord>> {
    const rows = await run(find, [...uids].map(toBytes));
    return new Map(rows.map((row) => [row[0], readOrderRecord(row)]));
  }

  async function insertAll(run: Query, inserts: readonly OrderInsert[]): Promise<InsertOutcome[]> {
    const counts = await owners.lock(
      run,
      inserts.map(({ order }) => order.owner),
    );
    // Without a possible cap rejection or replacement, the insert itself detects the duplicates.
    if (isBelowCaps(inserts, counts)) return insertStep(run, inserts, undefined);
    const outcomes: InsertOutcome[] = [];
    for (const step of await splitBatch(run, inserts)) {
      outcomes.push(...(await insertStep(run, step, await readState(run, step))));
    }
    return outcomes;
  }

  /** Splits a batch after each order with stored chain events, because these affect the checks of later orders. */
  async function splitBatch(run: Query, inserts: readonly OrderInsert[]): Promise<OrderInsert[][]> {
    const rows = await run(
      selectWithEvents,
      inserts.map(({ order }) => toBytes(order.uid)),
    );
    const boundaries = new Set(rows.map(([uid]) => uid));
    const steps: OrderInsert[][] = [[]];
    for (const insert of inserts) {
      steps.at(-1)?.push(insert);
      // After each occurrence of a repeated UID: the first may be rejected.
      if (boundaries.has(insert.order.uid)) steps.push([]);
    }
    return steps.filter((step) => step.length > 0);
  }

  async function insertStep(run: Query, inserts: readonly OrderInsert[], state?: BatchState): Promise<InsertOutcome[]> {
    const { outcomes, changes } = planInserts(inserts, state);
    for (const { uid, expiryRecorded } of changes.cancel) {
      const at = inserts.find(({ replaces }) => replaces === uid)?.order.creationDate;
      if (expiryRecorded && at !== undefined) await reinstate(run, [uid], at);
    }
    const inserted = await apply(run, changes);
    const times = new Map(inserts.map(({ order: { uid, creationDate } }) => [uid, creationDate])); // each UID once
    for (const [uid, at] of times) if (inserted.get(uid)?.hasChainEvents) await projectNewOrders(run, [uid], at);
    return outcomes.map((outcome, i) => {
      const uid = inserts[i]?.order.uid;
      if (outcome.status !== 'inserted' || (uid !== undefined && inserted.has(uid))) return outcome;
      // The order was not stored when the owner was locked, so another owner inserted the same UID since.
      if (state !== undefined) throw new RetryTransaction();
      return { status: 'duplicate' };
    });
  }

  async function readState(run: Query, inserts: readonly OrderInsert[]): Promise<BatchState> {
    const uids = new Set(inserts.flatMap(({ order, replaces = order.uid }) => [order.uid, replaces]));
    const orders = await findAll(run, uids);
    const tombstones = await run(
      selectTombstones,
      inserts.map(({ order }) => toBytes(order.uid)),
    );
    // Expiry is evaluated at the creation time of each order.
    const queries = inserts.flatMap(({ order: { owner, budget, creationDate }, cap }) =>
      cap === undefined ? [] : [{ owner, budget, now: Math.floor(creationDate / 1000) }],
    );
    const counts = await owners.count(run, queries);
    return {
      orders,
      tombstones: new Set(tombstones.map(([uid]) => uid)),
      counts: queries.map((query, i) => ({ ...query, count: counts[i] ?? 0 })),
    };
  }

  return {
    insert(inserts, options) {
      if (inserts.length === 0) return Promise.resolve([]);
      const transaction = options?.transaction;
      const work = (run: Query) => insertAll(run, inserts);
      return transaction === undefined ? write('insert orders', work) : join('insert orders', transaction, work);
    },

    async get(run, uids) {
      const rows = uids.length === 0 ? [] : await run(select, [...new Set(uids)].map(toBytes));
      return rows.map(readOrder);
    },

    async placed(run, account, uids) {
      if (uids.length === 0) return [];
      return (await run(selectPlaced, toBytes(account), uids.map(toBytes))).map(([uid]) => uid);
    },

    async cancel(request) {
      const uids = [...new Set(request.uids)];
      // A rejection needs no lock: it was correct at the time of the read.
      const unlocked = await read('cancel orders', (run) => findAll(run, uids));
      const rejected = reject(uids, unlocked, request.now);
      if (rejected !== undefined || uids.length === 0) return rejected ?? { status: 'cancelled' };
      return write('cancel orders', async (run) => {
        await owners.lock(
          run,
          [...unlocked.values()].map(({ owner }) => owner),
        );
        const records = await findAll(run, uids);
        const lateRejection = reject(uids, records, request.now);
        if (lateRejection !== undefined) return lateRejection;
        const cancelled = uids.flatMap((uid) => records.get(uid) ?? []);
        const at = request.cancelledAt;
        const early = cancelled.filter(({ expiryRecorded }) => expiryRecorded).map(({ uid }) => uid);
        if (early.length > 0) await reinstate(run, early, at);
        await apply(run, {
          insert: [],
          documents: [],
          cancel: cancelled,
          events: cancelled.map(({ uid, owner }) => ({ type: 'cancelled', uid, owner, at })),
        });
        return { status: 'cancelled' };
      });
    },
  };
}

/**
 * Returns whether no cap can be reached, even if all orders are inserted and expired orders are counted, and no order
 * is replaced. A pending order also counts as open, because a stored pre-signature event may open it within the batch.
 */
function isBelowCaps(inserts: readonly OrderInsert[], counts: ReadonlyMap<Address, LiveCounts>): boolean {
  const totals = new Map<string, number>();
  const getKey = (owner: Address, budget: keyof LiveCounts) => `${owner} ${budget}`;
  for (const { order } of inserts) {
    for (const budget of new Set(['open', order.budget] as const)) {
      const key = getKey(order.owner, budget);
      totals.set(key, (totals.get(key) ?? counts.get(order.owner)?.[budget] ?? 0) + 1);
    }
  }
  return inserts.every(
    ({ order, cap = Number.POSITIVE_INFINITY, replaces }) =>
      replaces === undefined && (totals.get(getKey(order.owner, order.budget)) ?? 0) <= cap,
  );
}

/** Returns the rejection of the first missing order, otherwise of the first order whose state forbids it. */
function reject(uids: readonly Hex[], records: ReadonlyMap<Hex, OrderRecord>, now: number): CancelOutcome | undefined {
  let rejected: CancelOutcome | undefined;
  for (const uid of uids) {
    const reason: CancelRejection | undefined = checkCancellable(records.get(uid), now);
    if (reason === 'missing') return { status: 'rejected', uid, reason };
    if (reason !== undefined) rejected ??= { status: 'rejected', uid, reason };
  }
  return rejected;
}
