import type { Address, Hex, NewOrder, QuotaClass } from 'intentbook';
import {
  getEndTime,
  getPlacementVersion,
  type KnownOrder,
  type OrderProgress,
  type OrderStateProjection,
} from 'intentbook/store-kit';
import { getQuotaClass, getScheme, QUOTA_CLASSES, SCHEMES } from '#internal';
import { ordersByKey } from './conditions.ts';
import { createEventRecorder } from './events.ts';
import { getBodyChecksum } from './order-rows.ts';
import type { Query } from './query.ts';
import {
  ENDED,
  getOwner,
  getPhase,
  joinQuoteTexts,
  PHASES,
  toByteArray,
  toBytes,
  toKey,
  toNumberArray,
  toUid,
} from './rows.ts';
import type { PostgresSession } from './session.ts';
import { DOCUMENT_MARGIN } from './sql/insert-orders.ts';

/** Order row with the columns that the projection of chain events needs. */
export interface ProjectedRow extends KnownOrder {
  readonly phase: number;
  readonly invalidated: boolean;
  readonly placement: string | null;
  readonly onchainUser: Address | null;
}

/** The row as it is stored: with codes. */
type OrderStateRow = Omit<ProjectedRow, 'uid' | 'signingScheme' | 'quotaClass' | 'expiryRecorded'> & {
  readonly key: Hex;
  readonly scheme: number;
  readonly quota: number;
};

/** New state of a row, and the increment of its version. */
interface Change {
  readonly uid: Hex;
  readonly progress: OrderProgress;
  readonly versions: 0 | 1;
}

/** Creates the writes of order rows with the effects of chain events, in a transaction that has locked the owners. */
export function createOrderProjectionTable(session: PostgresSession) {
  const { schema: s, prepare, prepareObjects } = session;
  const record = createEventRecorder(session);
  const selectOrders = prepareObjects<OrderStateRow>(
    'SELECT o.key, o.body, o.signing_scheme AS scheme, o.quota_class AS quota, o.cancelled_off_chain AS "cancelledOffChain", ' +
      'o.placed_on_chain AS "placedOnChain", o.phase, o.valid_to AS "validTo", o.invalidated, o.placement, ' +
      `o.onchain_user AS "onchainUser" FROM ${ordersByKey(s, '$1::bytea[]')}`,
  );
  const insert = prepare(
    `INSERT INTO ${s}.orders (key, owner, sell_token, buy_token, created, valid_to, signing_scheme, phase, quota_class, ` +
      'app_data, body, checksum, quote, placed_on_chain, version) ' +
      'SELECT key, substr(key, 37), sell_token, buy_token, created, valid_to, scheme, phase, quota_class, app_data, body, ' +
      'checksum, quote, true, $11 ' +
      'FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[], $6::smallint[], ' +
      '$7::smallint[], $8::smallint[], $9::bytea[], $10::text[], $12::text[], $13::integer[]) ' +
      'n (key, sell_token, buy_token, created, valid_to, scheme, phase, quota_class, app_data, body, quote, checksum)',
  );
  // Documents are locked in the order of the hashes, like by an insert, so that both cannot cause a deadlock.
  const refer = prepare(
    'WITH u AS MATERIALIZED (SELECT hash, max(valid_to) AS valid_to FROM unnest($1::bytea[], $2::bigint[]) ' +
      'a (hash, valid_to) GROUP BY hash ORDER BY hash), locked AS MATERIALIZED (' +
      `SELECT u.* FROM u CROSS JOIN LATERAL (SELECT FROM ${s}.documents k WHERE k.hash = u.hash ` +
      'AND k.used_until <= u.valid_to FOR NO KEY UPDATE) k) ' +
      `UPDATE ${s}.documents k SET referenced = true, used_until = u.valid_to + ${DOCUMENT_MARGIN} FROM locked u ` +
      'WHERE k.hash = u.hash AND k.used_until <= u.valid_to',
  );
  // The totals of a partially filled order move from its fill to its row.
  const update = prepare(
    `WITH filled AS (DELETE FROM ${s}.fills f USING unnest($1::bytea[]) k WHERE f.key = k RETURNING f.key, f.version) ` +
      `UPDATE ${s}.orders o SET version = coalesce(f.version, o.version) + c.versions, phase = c.phase, ` +
      'invalidated = c.invalidated, quota_class = c.quota_class, valid_to = c.valid_to, executed_sell_amount = c.sold, ' +
      'executed_buy_amount = c.bought, executed_fee_amount = c.signed_fee, executed_fee = c.fee, ' +
      'executed_fee_token = c.fee_token, placement = c.placement, onchain_user = c.onchain_user ' +
      'FROM unnest($1::bytea[], $2::integer[], $3::smallint[], $4::boolean[], $5::smallint[], ' +
      '$6::bigint[], $7::numeric[], $8::numeric[], $9::numeric[], $10::numeric[], $11::bytea[], $12::text[], ' +
      '$13::bytea[]) ' +
      'c (key, versions, phase, invalidated, quota_class, valid_to, sold, bought, signed_fee, fee, fee_token, ' +
      'placement, onchain_user) LEFT JOIN filled f ON f.key = c.key ' +
      `WHERE o.key = c.key`,
  );
  // The owners are locked, so that no other transaction inserts a fill between the update and the insert.
  const fill = prepare(
    'WITH c AS MATERIALIZED (SELECT * FROM unnest($1::bytea[], $2::numeric[], $3::numeric[], $4::numeric[], ' +
      '$5::numeric[], $6::bytea[]) c (key, sold, bought, signed_fee, fee, fee_token)), ' +
      `filled AS (UPDATE ${s}.fills f SET version = f.version + 1, executed_sell_amount = c.sold, ` +
      'executed_buy_amount = c.bought, executed_fee_amount = c.signed_fee, executed_fee = c.fee, ' +
      `executed_fee_token = c.fee_token FROM c WHERE f.key = c.key RETURNING f.key) ` +
      `INSERT INTO ${s}.fills (key, version, executed_sell_amount, executed_buy_amount, executed_fee_amount, ` +
      'executed_fee, executed_fee_token) ' +
      'SELECT c.key, o.version + 1, c.sold, c.bought, c.signed_fee, c.fee, c.fee_token FROM c ' +
      `CROSS JOIN LATERAL (SELECT o.version FROM ${s}.orders o WHERE o.key = c.key OFFSET 0) o ` +
      'WHERE c.key NOT IN (SELECT key FROM filled)',
  );
  const remove = prepare(
    `WITH filled AS (DELETE FROM ${s}.fills f USING unnest($1::bytea[]) k WHERE f.key = k), ` +
      `removed AS (DELETE FROM ${s}.orders o USING unnest($1::bytea[]) k WHERE o.key = k ` +
      'RETURNING key, cancelled_off_chain) ' +
      `INSERT INTO ${s}.tombstones (key) SELECT key FROM removed WHERE cancelled_off_chain ON CONFLICT DO NOTHING`,
  );
  const count = prepare(
    `UPDATE ${s}.owners w SET live_open = w.live_open + d.open, live_pending = w.live_pending + d.pending ` +
      'FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]) d (owner, open, pending) WHERE w.owner = d.owner',
  );

  async function insertRows(run: Query, orders: readonly NewOrder[], version: number): Promise<void> {
    const hashes = toByteArray(orders.map(({ appData }) => toBytes(appData)));
    await run(
      insert,
      toByteArray(orders.map(({ uid }) => toKey(uid))),
      toByteArray(orders.map(({ sellToken }) => toBytes(sellToken))),
      toByteArray(orders.map(({ buyToken }) => toBytes(buyToken))),
      toNumberArray(orders.map(({ creationDate }) => creationDate)),
      toNumberArray(orders.map(({ validTo }) => validTo)),
      toNumberArray(orders.map(({ signingScheme }) => SCHEMES.indexOf(signingScheme))),
      toNumberArray(orders.map(({ state }) => getPhase(state))),
      toNumberArray(orders.map(({ quotaClass }) => QUOTA_CLASSES.indexOf(quotaClass))),
      hashes,
      orders.map(({ body }) => body),
      version,
      orders.map(({ quote }) => (quote === undefined ? null : joinQuoteTexts(quote))),
      toNumberArray(orders.map(({ body }) => getBodyChecksum(body))),
    );
    await run(refer, hashes, toNumberArray(orders.map(getEndTime)));
  }

  async function updateRows(run: Query, changes: readonly Change[]): Promise<void> {
    const to = changes.map(({ progress }) => progress);
    await run(
      update,
      toByteArray(changes.map(({ uid }) => toKey(uid))),
      toNumberArray(changes.map(({ versions }) => versions)),
      toNumberArray(to.map((progress) => getPhase(progress.state, progress.expiryRecorded))),
      to.map(({ invalidated }) => invalidated),
      toNumberArray(to.map(({ quotaClass }) => QUOTA_CLASSES.indexOf(quotaClass))),
      toNumberArray(to.map(({ validTo }) => validTo)),
      ...toTotals(to),
      to.map(({ placement }) => placement),
      to.map(({ onchainUser }) => (onchainUser === null ? null : toBytes(onchainUser))),
    );
  }

  async function fillRows(run: Query, changes: readonly Change[]): Promise<void> {
    const totals = toTotals(changes.map(({ progress }) => progress));
    await run(fill, toByteArray(changes.map(({ uid }) => toKey(uid))), ...totals);
  }

  return {
    async find(run: Query, uids: readonly Hex[]): Promise<ReadonlyMap<Hex, ProjectedRow>> {
      const rows = uids.length === 0 ? [] : await run(selectOrders, toByteArray(uids.map(toKey)));
      return new Map(rows.map(readProjectedRow).map((row) => [row.uid, row]));
    },

    /** Writes a projection. @param before - The rows from which it was computed. */
    async write(
      run: Query,
      { rows, events }: OrderStateProjection,
      before: ReadonlyMap<Hex, ProjectedRow>,
    ): Promise<void> {
      const inserted: NewOrder[] = [];
      const changes: Change[] = [];
      const filled: Change[] = [];
      const removed: Hex[] = [];
      const counters = new Map<Address, Record<QuotaClass, number>>();
      const tally = (uid: Hex, quotaClass: QuotaClass, by: number) => {
        const owner = getOwner(uid);
        const counts = counters.get(owner) ?? { open: 0, pending: 0 };
        counters.set(owner, counts);
        counts[quotaClass] += by;
      };
      for (const row of rows) {
        const uid = row.type === 'insert' ? row.order.uid : row.uid;
        const old = before.get(uid);
        if (row.type === 'update' && old !== undefined && changesOnlyTotals(old, row.progress)) {
          filled.push({ uid, progress: row.progress, versions: 1 });
          continue;
        }
        if (old !== undefined && old.phase < ENDED) tally(uid, old.quotaClass, -1);
        if (row.type === 'delete') {
          removed.push(uid);
          continue;
        }
        const { state, expiryRecorded, quotaClass } = row.progress;
        if (getPhase(state, expiryRecorded) < ENDED) tally(uid, quotaClass, 1);
        if (row.type === 'insert') inserted.push(row.order);
        changes.push({ uid, progress: row.progress, versions: row.type === 'insert' ? 0 : 1 });
      }

      // Every change takes an ordinal of the events, see `getPlacementVersion`.
      const ordinals = events.length === 0 ? [] : await record(run, events);
      if (inserted.length > 0) await insertRows(run, inserted, getPlacementVersion(ordinals.at(-1) ?? 0));
      if (filled.length > 0) await fillRows(run, filled);
      if (changes.length > 0) await updateRows(run, changes);
      if (removed.length > 0) await run(remove, toByteArray(removed.map(toKey)));
      if (counters.size > 0) {
        const counts = [...counters.values()];
        await run(
          count,
          toByteArray([...counters.keys()].map(toBytes)),
          toNumberArray(counts.map(({ open }) => open)),
          toNumberArray(counts.map(({ pending }) => pending)),
        );
      }
    },
  };
}

function readProjectedRow({ key, scheme, quota, ...row }: OrderStateRow): ProjectedRow {
  return {
    ...row,
    uid: toUid(key),
    expiryRecorded: PHASES[row.phase]?.expiryRecorded ?? false,
    signingScheme: getScheme(scheme),
    quotaClass: getQuotaClass(quota),
  };
}

/** Returns whether a change can be written to the fill of an order: it may be filled in part before and after. */
function changesOnlyTotals(old: ProjectedRow, to: OrderProgress): boolean {
  return (
    PHASES[old.phase]?.state !== 'cancelled' &&
    PHASES[old.phase]?.state !== 'fulfilled' &&
    old.phase === getPhase(to.state, to.expiryRecorded) &&
    old.quotaClass === to.quotaClass &&
    old.validTo === to.validTo &&
    old.invalidated === to.invalidated &&
    old.placement === to.placement &&
    old.onchainUser === to.onchainUser
  );
}

/** Returns the arguments for the executed totals. */
function toTotals(to: readonly OrderProgress[]): unknown[] {
  return [
    to.map(({ executedSellAmount }) => executedSellAmount),
    to.map(({ executedBuyAmount }) => executedBuyAmount),
    to.map(({ executedFeeAmount }) => executedFeeAmount),
    to.map(({ executedFee }) => executedFee),
    to.map(({ executedFeeToken }) => (executedFeeToken === null ? null : toBytes(executedFeeToken))),
  ];
}
