import { randomInt } from 'node:crypto';
import type { Address, CancelRejection, Hex, InsertOutcome, OrderInsert, OrderStore, StoredOrder } from 'intentbook';
import { StoreError } from 'intentbook';
import { QUOTA_CLASSES, SCHEMES } from '#internal';
import { ordersByKey } from './conditions.ts';
import { XID } from './log-epoch.ts';
import { getBodyChecksum, ordersWithKeys, type PgOrderRow, parseOrderRows, selectOrders } from './order-rows.ts';
import type { PgOwnerCounts } from './owner-counts.ts';
import type { Query } from './query.ts';
import {
  getOwner,
  getPhase,
  joinQuoteTexts,
  SEPARATOR,
  toByteArray,
  toBytes,
  toKey,
  toNumberArray,
  toUid,
} from './rows.ts';
import type { PostgresSession } from './session.ts';
import { OUTCOMES, referDocuments } from './sql/insert-orders.ts';

/** Whether an insert skips locked owners, and whether the caller applies stored chain events itself. */
interface Mode {
  readonly skip: boolean;
  readonly split: boolean;
  /** Number that is stored with each inserted order, by which a repeated insert recognizes the orders of the first. */
  readonly attempt: number;
  /** Whether the documents of the orders are stored already. */
  readonly hasDocuments?: boolean;
}

/** Reasons by the codes of the function `cancel_rejection`. */
const REASONS: readonly CancelRejection[] = ['missing', 'fulfilled', 'cancelled', 'expired', 'on-chain'];

export function createOrderTable(
  session: PostgresSession,
  owners: Pick<PgOwnerCounts, 'lock'>,
  projectNewOrders: (run: Query, uids: readonly Hex[], at: number) => Promise<void>,
) {
  const { schema: s, prepare, read, call, write, join, settle } = session;
  const select = prepare<PgOrderRow>(selectOrders(s, ordersWithKeys(s, '$1::bytea[]'), { quotes: true }));
  const selectPlaced = prepare<readonly [key: Hex]>(
    `SELECT o.key FROM ${ordersByKey(s, '$2::bytea[]')} WHERE o.onchain_user = $1`,
  );
  const parameters = Array.from({ length: 19 }, (_, i) => `$${i + 1}`).join();
  const insert = prepare<readonly [codes: string]>(`SELECT ${s}.insert_orders(${parameters})::text`);
  const cancel = prepare<readonly [code: number]>(`SELECT ${s}.cancel_orders($1, $2, $3)`);
  const addQuote = prepare<readonly [1]>(
    `WITH changed AS (UPDATE ${s}.orders SET quote = $2, version = version + 1 WHERE key = $1 AND quote IS NULL ` +
      `RETURNING key), filled AS (UPDATE ${s}.fills f SET version = f.version + 1 FROM changed c WHERE f.key = c.key) ` +
      'SELECT 1 FROM changed',
  );
  const refer = prepare(referDocuments(s, '$1::bytea[], $2::bytea[], $3::text[], $4::bigint[]', 'true', '$5::bigint'));
  const selectTransaction = prepare<readonly [number]>(`SELECT ${XID}`);
  const selectAttempts = prepare<readonly [key: Hex, attempt: number]>(
    `SELECT o.key, o.attempt FROM ${ordersByKey(s, '$1::bytea[]')}`,
  );
  // A standby may lack orders that the primary has stored.
  const selectMayBeStored = prepare<readonly [boolean]>(
    `SELECT pg_is_in_recovery() OR EXISTS (SELECT FROM ${ordersByKey(s, '$1::bytea[]')})`,
  );
  const selectWithEvents = prepare<readonly [key: Hex]>(
    `SELECT DISTINCT e.key FROM ${s}.chain_events e WHERE e.key = ANY($1::bytea[]) ` +
      `AND NOT EXISTS (SELECT FROM ${s}.orders o WHERE o.key = e.key)`,
  );

  /** Inserts a batch in one statement. @returns undefined if a chain event of an order is already stored. */
  async function insertBatch(
    run: Query,
    inserts: readonly OrderInsert[],
    mode: Mode,
  ): Promise<InsertOutcome[] | undefined> {
    const [row] = await run(insert, ...toParameters(inserts, mode));
    const codes = row?.[0].slice(1, -1).split(',').map(Number) ?? [];
    if (codes[0] === OUTCOMES.split) return undefined;
    return inserts.map(({ quota = 0 }, i) => toOutcome(codes[i], quota));
  }

  /**
   * Stores the documents of orders outside of the transaction of the host that inserts them. Until it ends, their rows
   * would be locked, and all orders with the same documents would wait.
   */
  async function storeDocuments(run: Query, inserts: readonly OrderInsert[]): Promise<void> {
    const [row] = await run(selectTransaction);
    const parameters = [...toDocumentParameters(inserts), row?.[0]];
    await call('store documents', (outside) => outside(refer, ...parameters), { repeatable: true });
  }

  /** Inserts a batch like `insertBatch`, and applies the chain events of its orders that are already stored. */
  async function insertWithEvents(
    run: Query,
    inserts: readonly OrderInsert[],
    { skip, ...mode }: Mode,
  ): Promise<InsertOutcome[]> {
    const toOwner = ({ order }: OrderInsert) => getOwner(order.uid);
    // A chain event of an owner that is not locked could be stored between its search and the insert of its order.
    const locked = await owners.lock(run, inserts.map(toOwner), skip);
    const isLocked = (insert: OrderInsert) => locked.has(toOwner(insert));
    const outcomes = await insertParts(run, inserts.filter(isLocked), { ...mode, skip: false, split: true });
    return inserts.map((insert) => (isLocked(insert) ? outcomes.shift() : undefined) ?? { status: 'busy' });
  }

  /** Inserts a batch in parts, each of which ends with an order whose chain events are applied next. */
  async function insertParts(run: Query, inserts: readonly OrderInsert[], mode: Mode): Promise<InsertOutcome[]> {
    const keys = inserts.map(({ order }) => toKey(order.uid));
    const rows = await run(selectWithEvents, toByteArray(keys));
    const withEvents = new Set(rows.map(([key]) => `\\x${key.slice(2)}`));
    const outcomes: InsertOutcome[] = [];
    for (let start = 0; start < inserts.length; ) {
      const found = keys.findIndex((key, i) => i >= start && withEvents.has(key));
      const end = found < 0 ? inserts.length : found + 1;
      const part = inserts.slice(start, end);
      outcomes.push(...((await insertBatch(run, part, mode)) ?? []));
      const last = part.at(-1)?.order;
      if (found >= 0 && last !== undefined && outcomes.at(-1)?.status === 'inserted') {
        await projectNewOrders(run, [last.uid], last.creationDate);
      }
      start = end;
    }
    return outcomes;
  }

  async function insertDurably(inserts: readonly OrderInsert[], mode: Mode): Promise<InsertOutcome[]> {
    const outcomes = await call('insert orders', (run) => insertBatch(run, inserts, mode));
    return outcomes ?? write('insert orders', (run) => insertWithEvents(run, inserts, mode));
  }

  /**
   * Resolves an insert with an unknown outcome. When its session has ended, the insert is repeated: an order that is
   * stored now was stored by the first attempt, or by another insert. The stored number shows which.
   */
  async function resolve(inserts: readonly OrderInsert[], failure: unknown, attempt: number): Promise<InsertOutcome[]> {
    if (await settle(failure)) {
      try {
        const outcomes = await insertDurably(inserts, { skip: false, split: false, attempt });
        return await attributeDuplicates(inserts, outcomes, attempt);
      } catch (cause) {
        if (!isOutcomeUnknown(cause) && (await isNothingStored(inserts))) throw cause;
      }
    }
    return inserts.map(() => ({ status: 'unknown' }));
  }

  /** Replaces the outcome of each duplicate that an earlier try of this attempt has inserted. */
  async function attributeDuplicates(
    inserts: readonly OrderInsert[],
    outcomes: readonly InsertOutcome[],
    attempt: number,
  ): Promise<InsertOutcome[]> {
    const keys = inserts.map(({ order }) => toKey(order.uid));
    const duplicates = keys.filter((_, i) => outcomes[i]?.status === 'duplicate');
    if (duplicates.length === 0) return [...outcomes];
    const rows = await read('read orders', (run) => run(selectAttempts, toByteArray(duplicates)));
    const attempts = new Map(rows.map(([key, stored]) => [`\\x${key.slice(2)}`, stored]));
    return outcomes.map((outcome, i) => {
      const key = keys[i] ?? '';
      if (outcome.status !== 'duplicate' || keys.indexOf(key) < i) return outcome;
      const stored = attempts.get(key);
      if (stored === undefined) return { status: 'unknown' };
      return stored === attempt ? { status: 'inserted' } : outcome;
    });
  }

  async function isNothingStored(inserts: readonly OrderInsert[]): Promise<boolean> {
    const keys = toByteArray([...new Set(inserts.map(({ order }) => toKey(order.uid)))]);
    return read('read orders', (run) => run(selectMayBeStored, keys)).then(
      ([row]) => row?.[0] === false,
      () => false,
    );
  }

  const writes: Pick<OrderStore, 'insert' | 'cancel' | 'addQuote'> = {
    async insert(inserts, options) {
      if (inserts.length === 0) return [];
      const transaction = options?.transaction;
      const attempt = randomInt(2 ** 31);
      const mode = { skip: options?.skipLocked ?? false, split: false, attempt };
      if (transaction !== undefined) {
        const joined = { ...mode, hasDocuments: true };
        return join('insert orders', transaction, async (run) => {
          await storeDocuments(run, inserts);
          return (await insertBatch(run, inserts, joined)) ?? insertWithEvents(run, inserts, joined);
        });
      }
      try {
        return await insertDurably(inserts, mode);
      } catch (cause) {
        if (!isOutcomeUnknown(cause)) throw cause;
        return resolve(inserts, cause, attempt);
      }
    },

    async cancel({ uids, now, cancelledAt }) {
      const unique = [...new Set(uids)];
      if (unique.length === 0) return { status: 'cancelled' };
      const keys = toByteArray(unique.map(toKey));
      const [row] = await call('cancel orders', (run) => run(cancel, keys, now, cancelledAt));
      const code = row?.[0] ?? 0;
      const [uid, reason] = [unique[Math.floor(code / 10) - 1], REASONS[(code % 10) - 1]];
      return uid === undefined || reason === undefined ? { status: 'cancelled' } : { status: 'rejected', uid, reason };
    },

    async addQuote(uid, quote) {
      const changed = await call('add a quote to an order', (run) => run(addQuote, toKey(uid), joinQuoteTexts(quote)));
      return changed.length > 0;
    },
  };

  return {
    ...writes,

    async get(run: Query, uids: readonly Hex[]): Promise<StoredOrder[]> {
      return uids.length === 0 ? [] : parseOrderRows(await run(select, toByteArray([...new Set(uids)].map(toKey))));
    },

    async filterPlaced(run: Query, account: Address, uids: readonly Hex[]): Promise<Hex[]> {
      if (uids.length === 0) return [];
      const rows = await run(selectPlaced, toBytes(account), toByteArray([...new Set(uids)].map(toKey)));
      return rows.map(([key]) => toUid(key));
    },
  };
}

const isOutcomeUnknown = (cause: unknown) => cause instanceof StoreError && cause.code === 'OutcomeUnknown';

/** Returns the arguments of the function `insert_orders`. */
function toParameters(inserts: readonly OrderInsert[], { skip, split, attempt, hasDocuments }: Mode): unknown[] {
  const orders = inserts.map(({ order }) => order);
  const [app, hashes, documents, validTo] = toDocumentParameters(inserts);
  return [
    skip,
    split,
    attempt,
    toNumberArray(orders.map(({ creationDate }) => creationDate)),
    validTo,
    toNumberArray(orders.map(({ signingScheme }) => SCHEMES.indexOf(signingScheme))),
    toNumberArray(orders.map(({ state }) => getPhase(state))),
    toNumberArray(orders.map(({ quotaClass }) => QUOTA_CLASSES.indexOf(quotaClass))),
    toByteArray(orders.map(({ uid }) => toKey(uid))),
    toByteArray(orders.map(({ sellToken }) => toBytes(sellToken))),
    toByteArray(orders.map(({ buyToken }) => toBytes(buyToken))),
    app,
    orders.map(({ body }) => body).join(SEPARATOR),
    toNumberArray(orders.map(({ body }) => getBodyChecksum(body))),
    nullable(orders.map(({ quote }) => (quote === undefined ? null : joinQuoteTexts(quote)))),
    toNumberArray(inserts.map(({ quota = null }) => quota)),
    nullable(inserts.map(({ replaces }) => (replaces === undefined ? null : toKey(replaces)))),
    hasDocuments ? [] : hashes,
    hasDocuments ? null : documents,
  ];
}

/** Returns the arguments of `referDocuments`. */
function toDocumentParameters(inserts: readonly OrderInsert[]) {
  return [
    toByteArray(inserts.map(({ order }) => toBytes(order.appData))),
    nullable(inserts.map(({ document }) => (document === undefined ? null : toBytes(document.hash)))),
    nullable(inserts.map(({ document }) => document?.document ?? null)),
    toNumberArray(inserts.map(({ order }) => order.validTo)),
  ] as const;
}

const nullable = (values: readonly (string | null)[]) => (values.some((value) => value !== null) ? values : null);

function toOutcome(code: number | undefined, quota: number): InsertOutcome {
  if (code === OUTCOMES.inserted) return { status: 'inserted' };
  if (code === OUTCOMES.duplicate) return { status: 'duplicate' };
  if (code === OUTCOMES.busy) return { status: 'busy' };
  if (code === undefined) throw new Error('the server returned no outcome for an order');
  if (code >= OUTCOMES.quotaExceeded) return { status: 'quotaExceeded', quota, count: code - OUTCOMES.quotaExceeded };
  const reason = REASONS[code - OUTCOMES.notReplaceable - 1];
  if (reason === undefined) throw new Error(`the server returned the unknown outcome ${code}`);
  return { status: 'notReplaceable', reason };
}
