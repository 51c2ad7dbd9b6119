import type { OrderQuery, OrderState, StoredOrder } from 'intentbook';
import type { Query } from './query.ts';
import type { PgOrderRow } from './rows.ts';
import { orderColumns, readOrder, STATES, toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

/** SQL of a paged query and its parameters. */
export interface PgListingSql {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Creates the listing of orders, newest first. There is one statement for each combination of filters. */
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
 * Returns the query of a listing. For each combination of filters, there is one index in the order of the listing, from
 * which the page is read from the cursor on. The index begins with columns that are compared for equality, so that
 * nothing is sorted and orders before the cursor cost nothing.
 *
 * PostgreSQL has no hint for an index. Therefore, only the filters of that index are written as operators. The others
 * are combined in one expression, which no index supports. The planner expects it to match half of the rows.
 */
export function listingSql(schema: string, query: OrderQuery): PgListingSql {
  const { owner, sellToken, buyToken, status, after, offset, limit } = query;
  const conditions: string[] = [];
  const others: string[] = [];
  const values: unknown[] = [];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const indexed = getIndexedFilters(query);
  const where = (filter: Filter, condition: string) => (indexed.includes(filter) ? conditions : others).push(condition);

  if (sellToken !== undefined) where('sellToken', `o.sell_token = ${bind(toBytes(sellToken))}`);
  if (buyToken !== undefined) where('buyToken', `o.buy_token = ${bind(toBytes(buyToken))}`);
  if (status !== undefined && isDone(status)) {
    if (indexed.includes('status')) conditions.push('NOT o.live');
    where('status', `o.state = ${getStateCode(status.is)}`);
  } else if (status !== undefined && status.is !== 'expired') {
    conditions.push('o.live');
    others.push(`o.valid_to >= ${bind(status.now)}`, `o.state = ${getStateCode(status.is)}`);
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
  const pageSize = bind(limit);
  const skipped = offset === undefined || offset === 0 ? undefined : bind(offset);
  const page = `LIMIT ${pageSize}::bigint${skipped === undefined ? '' : ` OFFSET ${skipped}::bigint`}`;
  const reach = `LIMIT ${pageSize}::bigint${skipped === undefined ? '' : ` + ${skipped}::bigint`}`;
  // Merges two parts, each of which reads at most one page from its own index.
  const merged = (one: string, other: string) =>
    `((${one} ${reach}) UNION ALL (${other} ${reach}) ORDER BY created DESC, uid DESC ${page}) o`;

  let orders: string;
  if (owner !== undefined) {
    // Orders that an account owns, and orders that it placed on chain through a contract.
    const account = bind(toBytes(owner));
    const expired =
      status?.is === 'expired' ? [`o.state < 2 AND (NOT o.live OR o.valid_to < ${bind(status.now)})`] : [];
    orders = merged(
      select([`o.owner = ${account}`, ...cursor], expired),
      select([`o.onchain_user = ${account}`, ...cursor], [`o.owner <> ${account}`, ...expired]),
    );
  } else if (status?.is === 'expired') {
    // Orders with recorded expiry, and the few that the next sweep will find. Sorting these few must look cheap: the
    // lower bound makes the planner expect few rows, and the sum prevents the index in the order of the listing.
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

/** Returns the filters that begin the index of a listing, without the owner. Indexes of live orders stay small. */
function getIndexedFilters({ owner, sellToken, buyToken, status }: OrderQuery): readonly Filter[] {
  if (owner !== undefined || status?.is === 'expired') return [];
  if (status !== undefined && isDone(status)) return ['status'];
  if (status !== undefined && sellToken !== undefined && buyToken !== undefined) return ['sellToken', 'buyToken'];
  if (sellToken !== undefined) return ['sellToken'];
  return buyToken === undefined ? [] : ['buyToken'];
}

const getStateCode = (state: OrderState) => STATES.indexOf(state);
