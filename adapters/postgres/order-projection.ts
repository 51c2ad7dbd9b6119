import type { Address, Budget, Hex, NewOrder } from 'intentbook';
import type { KnownOrder, OrderProgress, OrderStateProjection } from 'intentbook/store-kit';
import { getPlacementVersion } from 'intentbook/store-kit';
import type { Query } from './query.ts';
import { BUDGETS, isExpiryRecorded, NO_QUOTE, SCHEMES, STATES, toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

/** Order row with the columns that the projection of chain events needs. */
export interface ProjectedRow extends KnownOrder {
  readonly live: boolean;
}

/** Order rows with the effects of chain events. All methods run within a transaction that has locked the owners. */
export interface PgOrderProjectionTable {
  find(run: Query, uids: readonly Hex[]): Promise<ReadonlyMap<Hex, ProjectedRow>>;
  /** Writes a projection. @param before - The rows from which it was computed. */
  write(run: Query, projection: OrderStateProjection, before: ReadonlyMap<Hex, ProjectedRow>): Promise<void>;
}

type OrderStateRow = readonly [
  uid: Hex,
  body: string,
  scheme: number,
  budget: number,
  cancelledOffChain: boolean,
  placedOnChain: boolean,
  live: boolean,
  validTo: number,
  expiryRecorded: boolean,
];

export function createOrderProjectionTable({ schema: s, prepare }: PostgresSession): PgOrderProjectionTable {
  const selectOrders = prepare<OrderStateRow>(
    'SELECT uid, body, signing_scheme, budget, cancelled_off_chain, placed_on_chain, live, valid_to, ' +
      `${isExpiryRecorded} FROM ${s}.orders WHERE uid = ANY($1::bytea[])`,
  );
  const insert = prepare(
    `INSERT INTO ${s}.orders (uid, owner, sell_token, buy_token, created, valid_to, signing_scheme, state, budget, ` +
      'live, app_data, body, quote, quote_metadata, placed_on_chain, version) ' +
      'SELECT uid, owner, sell_token, buy_token, created, valid_to, scheme, state, budget, true, app_data, body, quote, ' +
      'metadata, true, $12 ' +
      'FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bigint[], $7::smallint[], ' +
      '$8::smallint[], $9::smallint[], $10::bytea[], $11::text[], $13::text[], $14::text[]) ' +
      'n (uid, owner, sell_token, buy_token, created, valid_to, scheme, state, budget, app_data, body, quote, metadata)',
  );
  const refer = prepare(`UPDATE ${s}.documents SET referenced = true WHERE NOT referenced AND hash = ANY($1::bytea[])`);
  const update = prepare(
    `UPDATE ${s}.orders o SET version = o.version + c.versions, state = c.state, live = c.live, ` +
      'invalidated = c.invalidated, budget = c.budget, valid_to = c.valid_to, executed_sell_amount = c.sold, ' +
      'executed_buy_amount = c.bought, executed_fee_amount = c.signed_fee, executed_fee = c.fee, ' +
      'executed_fee_token = c.fee_token, placement = c.placement, onchain_user = c.onchain_user ' +
      'FROM unnest($1::bytea[], $2::integer[], $3::smallint[], $4::boolean[], $5::boolean[], $6::smallint[], ' +
      '$7::bigint[], $8::numeric[], $9::numeric[], $10::numeric[], $11::numeric[], $12::bytea[], $13::text[], ' +
      '$14::bytea[]) ' +
      'c (uid, versions, state, live, invalidated, budget, valid_to, sold, bought, signed_fee, fee, fee_token, ' +
      'placement, onchain_user) WHERE o.uid = c.uid',
  );
  // Only older releases stored quotes in this table.
  const removeQuotes = prepare(`DELETE FROM ${s}.order_quotes WHERE uid = ANY($1::bytea[])`);
  const remove = prepare(`DELETE FROM ${s}.orders WHERE uid = ANY($1::bytea[])`);
  const count = prepare(
    `UPDATE ${s}.owners w SET live_open = w.live_open + d.open, live_pending = w.live_pending + d.pending ` +
      'FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]) d (owner, open, pending) WHERE w.owner = d.owner',
  );
  // Every change takes an ordinal of the queue, see `getPlacementVersion`.
  const record = prepare<readonly [ordinal: number]>(
    `INSERT INTO ${s}.event_queue (type, uid, owner, at, cause) SELECT type, uid, owner, at, cause FROM ` +
      'unnest($1::text[], $2::bytea[], $3::bytea[], $4::bigint[], $5::text[]) WITH ORDINALITY ' +
      'e (type, uid, owner, at, cause, ordinal) ORDER BY e.ordinal RETURNING ordinal',
  );

  async function insertRows(run: Query, orders: readonly NewOrder[], version: number): Promise<void> {
    await run(
      insert,
      orders.map(({ uid }) => toBytes(uid)),
      orders.map(({ owner }) => toBytes(owner)),
      orders.map(({ sellToken }) => toBytes(sellToken)),
      orders.map(({ buyToken }) => toBytes(buyToken)),
      orders.map(({ creationDate }) => creationDate),
      orders.map(({ validTo }) => validTo),
      orders.map(({ signingScheme }) => SCHEMES.indexOf(signingScheme)),
      orders.map(({ state }) => STATES.indexOf(state)),
      orders.map(({ budget }) => BUDGETS.indexOf(budget)),
      orders.map(({ appData }) => toBytes(appData)),
      orders.map(({ body }) => body),
      version,
      orders.map(({ quote }) => quote?.body ?? NO_QUOTE),
      orders.map(({ quote }) => quote?.metadata ?? null),
    );
    await run(
      refer,
      orders.map(({ appData }) => toBytes(appData)),
    );
  }

  async function updateRows(run: Query, changes: readonly Change[]): Promise<void> {
    const to = changes.map(({ progress }) => progress);
    await run(
      update,
      changes.map(({ uid }) => toBytes(uid)),
      changes.map(({ versions }) => versions),
      to.map(({ state }) => STATES.indexOf(state)),
      to.map(isLive),
      to.map(({ invalidated }) => invalidated),
      to.map(({ budget }) => BUDGETS.indexOf(budget)),
      to.map(({ validTo }) => validTo),
      to.map(({ executedSellAmount }) => executedSellAmount),
      to.map(({ executedBuyAmount }) => executedBuyAmount),
      to.map(({ executedFeeAmount }) => executedFeeAmount),
      to.map(({ executedFee }) => executedFee),
      to.map(({ executedFeeToken }) => (executedFeeToken === null ? null : toBytes(executedFeeToken))),
      to.map(({ placement }) => placement),
      to.map(({ onchainUser }) => (onchainUser === null ? null : toBytes(onchainUser))),
    );
  }

  async function recordAll(run: Query, events: OrderStateProjection['events']): Promise<readonly number[]> {
    const rows = await run(
      record,
      events.map(({ type }) => type),
      events.map(({ uid }) => toBytes(uid)),
      events.map(({ owner }) => toBytes(owner)),
      events.map(({ at }) => at),
      events.map(({ cause }) => (cause === undefined ? null : JSON.stringify(cause))),
    );
    return rows.map(([ordinal]) => ordinal);
  }

  return {
    async find(run, uids) {
      const rows = uids.length === 0 ? [] : await run(selectOrders, uids.map(toBytes));
      return new Map(
        rows.map(([uid, body, scheme, budget, cancelledOffChain, placedOnChain, live, validTo, expiryRecorded]) => [
          uid,
          {
            uid,
            body,
            cancelledOffChain,
            placedOnChain,
            live,
            validTo,
            expiryRecorded,
            // The table checks the ranges.
            signingScheme: SCHEMES[scheme] as KnownOrder['signingScheme'],
            budget: BUDGETS[budget] as Budget,
          },
        ]),
      );
    },

    async write(run, { rows, events }, before) {
      const inserted: NewOrder[] = [];
      const changes: Change[] = [];
      const removed: Hex[] = [];
      const counters = new Map<Address, Record<Budget, number>>();
      const tally = (uid: Hex, budget: Budget, by: number) => {
        const owner: Address = `0x${uid.slice(66, 106)}`;
        const counts = counters.get(owner) ?? { open: 0, pending: 0 };
        counters.set(owner, counts);
        counts[budget] += by;
      };
      for (const row of rows) {
        const uid = row.type === 'insert' ? row.order.uid : row.uid;
        const old = before.get(uid);
        if (old?.live) tally(uid, old.budget, -1);
        if (row.type === 'delete') {
          removed.push(uid);
          continue;
        }
        if (isLive(row.progress)) tally(uid, row.progress.budget, 1);
        if (row.type === 'insert') inserted.push(row.order);
        changes.push({ uid, progress: row.progress, versions: row.type === 'insert' ? 0 : 1 });
      }

      const ordinals = events.length === 0 ? [] : await recordAll(run, events);
      if (inserted.length > 0) await insertRows(run, inserted, getPlacementVersion(ordinals.at(-1) ?? 0));
      if (changes.length > 0) await updateRows(run, changes);
      if (removed.length > 0) {
        await run(removeQuotes, removed.map(toBytes));
        await run(remove, removed.map(toBytes));
      }
      if (counters.size > 0) {
        const counts = [...counters.values()];
        await run(
          count,
          [...counters.keys()].map(toBytes),
          counts.map(({ open }) => open),
          counts.map(({ pending }) => pending),
        );
      }
    },
  };
}

/** New state of a row, and the increment of its version. */
interface Change {
  readonly uid: Hex;
  readonly progress: OrderProgress;
  readonly versions: 0 | 1;
}

const isLive = ({ state, expiryRecorded }: OrderProgress) =>
  !expiryRecorded && (state === 'open' || state === 'presignaturePending');
