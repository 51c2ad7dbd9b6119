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
import type { Kept, PgOwnerCounts } from './owner-counts.ts';
import type { KnownRows } from './plan-inserts.ts';
import { planInserts } from './plan-inserts.ts';
import type { Query } from './query.ts';
import { RetryTransaction } from './query.ts';
import type { Found, FoundRow, PgOrderRow } from './rows.ts';
import { isExpiryRecorded, orderColumns, quoteColumns, readFound, readOrder, toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';
import { createBatchWriter } from './write-batch.ts';

export interface PgOrderTable {
  insert(inserts: readonly OrderInsert[], options?: InsertOptions): Promise<InsertOutcome[]>;
  get(run: Query, uids: readonly Hex[]): Promise<StoredOrder[]>;
  cancel(request: CancelRequest): Promise<CancelOutcome>;
}

export function createOrderTable(
  session: PostgresSession,
  owners: PgOwnerCounts,
  fold: (run: Query, uids: readonly Hex[], at: number) => Promise<void>,
): PgOrderTable {
  const { schema: s, prepare, read, write, join } = session;
  const select = prepare<PgOrderRow>(
    `SELECT ${orderColumns(s)}, ${quoteColumns(s)} FROM ${s}.orders o WHERE o.uid = ANY($1::bytea[])`,
  );
  const find = prepare<FoundRow>(
    `SELECT uid, owner, state, valid_to, signing_scheme, budget, ${isExpiryRecorded} FROM ${s}.orders WHERE uid = ANY($1::bytea[])`,
  );
  // Of an order that is there, they have been taken in.
  const waited = prepare<readonly [uid: Hex]>(
    `SELECT DISTINCT f.uid FROM ${s}.facts f WHERE f.uid = ANY($1::bytea[]) ` +
      `AND NOT EXISTS (SELECT FROM ${s}.orders o WHERE o.uid = f.uid)`,
  );
  const apply = createBatchWriter(session);

  async function findAll(run: Query, uids: Iterable<Hex>): Promise<Map<Hex, Found>> {
    const rows = await run(find, [...uids].map(toBytes));
    return new Map(rows.map((row) => [row[0], readFound(row)]));
  }

  async function insertAll(run: Query, inserts: readonly OrderInsert[]): Promise<InsertOutcome[]> {
    const kept = await owners.lock(
      run,
      inserts.map(({ order }) => order.owner),
    );
    // What needs no look is left to the insert itself, which tells the duplicates.
    if (isRoomy(inserts, kept)) return insertStep(run, inserts, undefined);
    const outcomes: InsertOutcome[] = [];
    for (const step of await stepsOf(run, inserts)) {
      outcomes.push(...(await insertStep(run, step, await look(run, step))));
    }
    return outcomes;
  }

  /** Cuts a batch after each order that facts wait for: what they make of it, those after it are judged by. */
  async function stepsOf(run: Query, inserts: readonly OrderInsert[]): Promise<OrderInsert[][]> {
    const rows = await run(
      waited,
      inserts.map(({ order }) => toBytes(order.uid)),
    );
    const cuts = new Set(rows.map(([uid]) => uid));
    const steps: OrderInsert[][] = [[]];
    for (const insert of inserts) {
      steps.at(-1)?.push(insert);
      if (cuts.has(insert.order.uid)) steps.push([]); // twice, if it is there twice: the first may be rejected
    }
    return steps.filter((step) => step.length > 0);
  }

  async function insertStep(run: Query, inserts: readonly OrderInsert[], known?: KnownRows): Promise<InsertOutcome[]> {
    const { outcomes, changes } = planInserts(inserts, known);
    const inserted = await apply(run, changes);
    const each = new Map(inserts.map(({ order: { uid, creationDate } }) => [uid, creationDate])); // each UID once
    for (const [uid, at] of each) if (inserted.get(uid)?.hasFacts) await fold(run, [uid], at);
    return outcomes.map((outcome, i) => {
      const uid = inserts[i]?.order.uid;
      if (outcome.status !== 'inserted' || (uid !== undefined && inserted.has(uid))) return outcome;
      // Judged with a look and the owner's lock, and there all the same: under another owner, a moment ago.
      if (known !== undefined) throw new RetryTransaction();
      return { status: 'duplicate' };
    });
  }

  async function look(run: Query, inserts: readonly OrderInsert[]): Promise<KnownRows> {
    const uids = new Set(inserts.flatMap(({ order, replaces = order.uid }) => [order.uid, replaces]));
    const orders = await findAll(run, uids);
    // Expiry is judged at each order's own time.
    const questions = inserts.flatMap(({ order: { owner, budget, creationDate }, cap }) =>
      cap === undefined ? [] : [{ owner, budget, now: Math.floor(creationDate / 1000) }],
    );
    const counts = await owners.count(run, questions);
    return { orders, counts: questions.map((question, i) => ({ ...question, count: counts[i] ?? 0 })) };
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

    async cancel(request) {
      const uids = [...new Set(request.uids)];
      // A rejection needs no lock: it was true of one moment.
      const seen = await read('cancel orders', (run) => findAll(run, uids));
      const rejected = reject(uids, seen, request.now);
      if (rejected !== undefined || uids.length === 0) return rejected ?? { status: 'cancelled' };
      return write('cancel orders', async (run) => {
        await owners.lock(
          run,
          [...seen.values()].map(({ owner }) => owner),
        );
        const found = await findAll(run, uids);
        const late = reject(uids, found, request.now);
        if (late !== undefined) return late;
        const cancelled = uids.flatMap((uid) => found.get(uid) ?? []);
        const at = request.cancelledAt;
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
 * Whether no cap can be reached, if all are inserted, even with what has expired counted; and nothing is replaced. A
 * presignature may be waiting for what is pending, and make it open in between.
 */
function isRoomy(inserts: readonly OrderInsert[], kept: ReadonlyMap<Address, Kept>): boolean {
  const coming = new Map<string, number>();
  const keyOf = (owner: Address, budget: keyof Kept) => `${owner} ${budget}`;
  for (const { order } of inserts) {
    for (const budget of new Set(['open', order.budget] as const)) {
      const key = keyOf(order.owner, budget);
      coming.set(key, (coming.get(key) ?? kept.get(order.owner)?.[budget] ?? 0) + 1);
    }
  }
  return inserts.every(
    ({ order, cap = Number.POSITIVE_INFINITY, replaces }) =>
      replaces === undefined && (coming.get(keyOf(order.owner, order.budget)) ?? 0) <= cap,
  );
}

/** The first that is missing, else the first whose state forbids it. */
function reject(uids: readonly Hex[], found: ReadonlyMap<Hex, Found>, now: number): CancelOutcome | undefined {
  let rejected: CancelOutcome | undefined;
  for (const uid of uids) {
    const reason: CancelRejection | undefined = checkCancellable(found.get(uid), now);
    if (reason === 'missing') return { status: 'rejected', uid, reason };
    if (reason !== undefined) rejected ??= { status: 'rejected', uid, reason };
  }
  return rejected;
}
