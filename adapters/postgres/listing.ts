import type { OrderQuery, StoredOrder } from 'intentbook';
import { ownerPrefix, splitDate } from './conditions.ts';
import { joinFills, type PgOrderRow, parseOrderRows, selectOrders } from './order-rows.ts';
import type { Query } from './query.ts';
import { ENDED, getPhase, PHASES, sqlUid, toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

/** Creates the listing of orders, newest first. There is one statement for each combination of filters. */
export function createListing({
  schema,
  prepare,
}: PostgresSession): (run: Query, query: OrderQuery) => Promise<StoredOrder[]> {
  return async (run, query) => {
    const { text, values } = listingSql(schema, query);
    return parseOrderRows(await run(prepare<PgOrderRow>(text), ...values)).sort(compareNewest);
  };
}

/** Compares orders like {@link NEWEST}. UIDs are hexadecimal texts in lower case. */
const compareNewest = (a: StoredOrder, b: StoredOrder) =>
  b.creationDate - a.creationDate || (a.uid < b.uid ? 1 : a.uid > b.uid ? -1 : 0);

const BY_UID = `${sqlUid('o.key')} DESC`;
const NEWEST = `o.created DESC, ${BY_UID}`;

/** How the last columns of an index are sorted, and the condition of the entries from a creation date on. */
const DATE_INDEX = { order: 'o.created DESC', reach: (date: string) => `o.created <= ${date}` };

const { high, low } = splitDate('o.created');
const OWNER_INDEX: typeof DATE_INDEX = {
  order: `${high} DESC, ${low} DESC`,
  reach(date) {
    const limit = splitDate(date);
    return `(${high}, ${low}) <= (${limit.high}, ${limit.low})`;
  },
};

/**
 * Returns the query of a listing. It merges one part for each phase that the status includes. A part reads at most one
 * page from one index, from the cursor on: that of the owner, of a token, or of all orders. These indexes end with
 * phase and creation date, so orders before the cursor cost nothing. A part is not sorted: it also contains the orders
 * that have the creation date of its last one. A planner that expects few rows would sort all orders of an owner.
 *
 * PostgreSQL has no hint for an index. Therefore, only the filters of that index are written as operators. The others
 * are combined in one expression, which no index supports. The planner expects it to match half of the rows.
 */
export function listingSql(schema: string, query: OrderQuery) {
  const { owner, sellToken, buyToken, status, after, offset, limit } = query;
  const values: unknown[] = [];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const tokens = [
    ...(sellToken === undefined ? [] : [`o.sell_token = ${bind(toBytes(sellToken))}`]),
    ...(buyToken === undefined ? [] : [`o.buy_token = ${bind(toBytes(buyToken))}`]),
  ];
  // A filter by a state that is final does not depend on the time.
  const phases = getPhases(status);
  const now =
    status?.is === 'expired' || (status && phases[0] !== undefined && phases[0] < ENDED) ? bind(status.now) : undefined;
  const account = owner === undefined ? undefined : bind(toBytes(owner));
  const cursor = after === undefined ? undefined : [bind(after.creationDate), bind(toBytes(after.uid))];
  const pageSize = bind(limit);
  const skipped = offset === undefined || offset === 0 ? undefined : bind(offset);
  const reach = `${pageSize}::bigint${skipped === undefined ? '' : ` + ${skipped}::bigint`}`;

  /** Selects from one index: `first` has the conditions besides that of the phase. */
  const part = (phase: number, first: readonly string[], others: readonly string[], index = DATE_INDEX) => {
    const all = [...first, `o.phase = ${phase}`];
    const rest = [...others];
    if (cursor !== undefined) {
      all.push(index.reach(`${cursor[0]}::bigint`));
      rest.push(`(o.created < ${cursor[0]} OR o.created = ${cursor[0]} AND ${sqlUid('o.key')} < ${cursor[1]})`);
    }
    if (phase < ENDED && now !== undefined) rest.push(`o.valid_to >= ${now}`);
    if (rest.length > 0) all.push(`coalesce(${rest.join(' AND ')}, false)`);
    return `(SELECT o.* FROM ${schema}.orders o WHERE ${all.join(' AND ')} ORDER BY ${index.order} FETCH FIRST (${reach}) ROWS WITH TIES)`;
  };

  /** Selects live orders whose expiry the next sweep records: these few are read from the index of expiry. */
  const unrecorded = () => {
    const rest = [
      ...tokens,
      ...(account === undefined ? [] : [`(o.owner = ${account} OR o.onchain_user = ${account})`]),
    ];
    if (cursor !== undefined) rest.push(`(o.created, ${sqlUid('o.key')}) < (${cursor[0]}, ${cursor[1]})`);
    const matches = rest.length === 0 ? '' : ` AND coalesce(${rest.join(' AND ')}, false)`;
    // The sum prevents the index in the order of the listing.
    return (
      `(SELECT o.* FROM ${schema}.orders o WHERE o.phase / 2 = 0 AND o.phase < 4 AND o.valid_to >= 0 AND o.valid_to < ${now}${matches} ` +
      `ORDER BY o.created + 0 DESC, ${sqlUid('o.key')} DESC LIMIT ${reach})`
    );
  };

  const parts =
    account === undefined
      ? phases.map((phase) => part(phase, tokens.slice(0, 1), tokens.slice(1)))
      : // Orders that an account owns, and orders that it placed on chain through a contract.
        phases.flatMap((phase) => [
          part(
            phase,
            [`${ownerPrefix('o.owner')} = ${ownerPrefix(`${account}::bytea`)}`],
            [`o.owner = ${account}`, ...tokens],
            OWNER_INDEX,
          ),
          part(
            phase,
            [`o.onchain_user = ${account}`, '(SELECT found FROM placements)'],
            [...tokens, `o.owner <> ${account}`],
          ),
        ]);
  // Most accounts have placed no order on chain. One lookup then replaces those in every part.
  const placements =
    account === undefined
      ? ''
      : `WITH placements AS MATERIALIZED (SELECT EXISTS (SELECT FROM ${schema}.chain_events p ` +
        `WHERE p.onchain_user = ${account}) AS found) `;
  if (status?.is === 'expired') parts.push(unrecorded());
  const page =
    `SELECT * FROM (${parts.join(' UNION ALL ')}) o ORDER BY ${NEWEST} LIMIT ${pageSize}::bigint` +
    (skipped === undefined ? '' : ` OFFSET ${skipped}::bigint`);
  return {
    text: selectOrders(schema, `(${placements}${page}) o ${joinFills(schema)}`, { quotes: query.quotes ?? false }),
    values,
  };
}

/** Returns the phases of a status. Live orders may be expired, so they are compared with the time as well. */
function getPhases(status: OrderQuery['status']): readonly number[] {
  if (status === undefined) return PHASES.map((_, phase) => phase);
  return status.is === 'expired'
    ? [getPhase('open', true), getPhase('presignaturePending', true)]
    : [getPhase(status.is)];
}
