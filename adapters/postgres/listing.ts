import type { OrderQuery, OrderState, StoredOrder } from 'intentbook';
import type { Query } from './query.ts';
import type { PgOrderRow } from './rows.ts';
import { orderColumns, readOrder, STATES, toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

/** A paged query: its text, and what is bound to it. */
export interface PgListingSql {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Lists orders, newest first. There is one statement for each combination of filters. */
export function createListing({
  schema,
  prepare,
}: PostgresSession): (run: Query, query: OrderQuery) => Promise<StoredOrder[]> {
  return async (run, query) => {
    const { text, values } = listingSql(schema, query);
    return (await run(prepare<PgOrderRow>(text), ...values)).map(readOrder);
  };
}

/**
 * Writes the query of a listing. For each combination of filters there is one index to read the page off, from the
 * cursor on, in the order of the listing: it begins with columns that are compared for equality, so that nothing is
 * sorted, and what the cursor has passed costs nothing.
 *
 * PostgreSQL cannot be told which index that is. So only the filters that it begins with are written as operators. The
 * others stand together in one expression, which no index answers, and which the planner expects to let half of the
 * rows through rather than nearly none.
 */
export function listingSql(schema: string, query: OrderQuery): PgListingSql {
  const { owner, sellToken, buyToken, status, after, offset, limit } = query;
  const conditions: string[] = [];
  const others: string[] = [];
  const values: unknown[] = [];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const indexed = indexedFilters(query);
  const where = (filter: Filter, condition: string) => (indexed.includes(filter) ? conditions : others).push(condition);

  if (sellToken !== undefined) where('sellToken', `o.sell_token = ${bind(toBytes(sellToken))}`);
  if (buyToken !== undefined) where('buyToken', `o.buy_token = ${bind(toBytes(buyToken))}`);
  if (status !== undefined && isDone(status)) {
    if (indexed.includes('status')) conditions.push('NOT o.live');
    where('status', `o.state = ${codeOf(status.is)}`);
  } else if (status !== undefined && status.is !== 'expired') {
    conditions.push('o.live');
    others.push(`o.valid_to >= ${bind(status.now)}`, `o.state = ${codeOf(status.is)}`);
  }
  const cursor =
    after === undefined ? [] : [`(o.created, o.uid) < (${bind(after.creationDate)}, ${bind(toBytes(after.uid))})`];

  const newest = 'o.created DESC, o.uid DESC';
  const select = (indexable: readonly string[], rest: readonly string[], order = newest) => {
    const all = [...indexable, ...conditions];
    const unindexed = [...rest, ...others];
    if (unindexed.length > 0) all.push(`coalesce(${unindexed.join(' AND ')}, false)`);
    return `SELECT * FROM ${schema}.orders o${all.length === 0 ? '' : ` WHERE ${all.join(' AND ')}`} ORDER BY ${order}`;
  };
  const most = bind(limit);
  const skipped = offset === undefined || offset === 0 ? undefined : bind(offset);
  const page = `LIMIT ${most}::bigint${skipped === undefined ? '' : ` OFFSET ${skipped}::bigint`}`;
  const reach = `LIMIT ${most}::bigint${skipped === undefined ? '' : ` + ${skipped}::bigint`}`;
  // Of two parts, each off an index of its own, a page at most.
  const merged = (one: string, other: string) =>
    `((${one} ${reach}) UNION ALL (${other} ${reach}) ORDER BY created DESC, uid DESC ${page}) o`;

  let orders: string;
  if (owner !== undefined) {
    // What an account owns, and what it has placed on chain for a contract to own.
    const account = bind(toBytes(owner));
    const expired =
      status?.is === 'expired' ? [`o.state < 2 AND (NOT o.live OR o.valid_to < ${bind(status.now)})`] : [];
    orders = merged(
      select([`o.owner = ${account}`, ...cursor], expired),
      select([`o.onchain_user = ${account}`, ...cursor], [`o.owner <> ${account}`, ...expired]),
    );
  } else if (status?.is === 'expired') {
    // What has been swept up, and what the next sweep will find. That is little, and nothing else than sorting it must
    // look good: the lower bound has the planner expect little, the sum keeps it off the indexes in the listing's order.
    orders = merged(
      select(['NOT o.live AND o.state < 2', ...cursor], []),
      select(
        [`o.live AND o.valid_to >= 0 AND o.valid_to < ${bind(status.now)}`],
        cursor,
        'o.created + 0 DESC, o.uid DESC',
      ),
    );
  } else orders = `(${select(cursor, [])} ${page}) o`;
  return { text: `SELECT ${orderColumns(schema)} FROM ${orders} ORDER BY ${newest}`, values };
}

type Filter = 'sellToken' | 'buyToken' | 'status';
type Status = NonNullable<OrderQuery['status']>;
type Done = Status & { readonly is: 'cancelled' | 'fulfilled' };

const isDone = (status: Status): status is Done => status.is === 'cancelled' || status.is === 'fulfilled';

/** What the index of a listing begins with, an account aside. Those of live orders do not grow with the past. */
function indexedFilters({ owner, sellToken, buyToken, status }: OrderQuery): readonly Filter[] {
  if (owner !== undefined || status?.is === 'expired') return [];
  if (status !== undefined && isDone(status)) return ['status'];
  if (status !== undefined && sellToken !== undefined && buyToken !== undefined) return ['sellToken', 'buyToken'];
  if (sellToken !== undefined) return ['sellToken'];
  return buyToken === undefined ? [] : ['buyToken'];
}

const codeOf = (state: OrderState) => STATES.indexOf(state);
