import type { OrderQuote, QuoteQuery, QuoteStore, QuoteTerms } from 'intentbook';
import { createBatcher } from './batcher.ts';
import { KINDS, QUOTE_KINDS, toByteArray, toBytes, toNumberArray } from './rows.ts';
import type { PostgresSession } from './session.ts';

/**
 * Returns SQL by which the commit of a statement does not wait for a standby. A quote is short-lived, and no order
 * depends on it.
 */
const WITHOUT_STANDBY =
  "CASE WHEN current_setting('synchronous_commit') <> 'off' THEN set_config('synchronous_commit', 'local', true) END";

/** Creates the quote operations. Reads use the primary: a replica may lack the quote of a recent order. */
export function createQuoteTable({ schema: s, prepare, read, call, write }: PostgresSession): QuoteStore {
  const insert = prepare<readonly [number]>(
    `INSERT INTO ${s}.quotes (sell_token, buy_token, kind, amount, quote_kind, expires_at, rank, body, metadata) ` +
      `VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id, ${WITHOUT_STANDBY}`,
  );
  // One statement for a batch of orders. A matching quote with the given id takes precedence.
  const match = prepare<readonly [index: number, body: string, metadata: string]>(
    'SELECT i.index, m.body, m.metadata FROM ' +
      'unnest($1::bytea[], $2::bytea[], $3::smallint[], $4::text[], $5::smallint[], $6::bigint[], $7::bigint[]) ' +
      'WITH ORDINALITY i (sell_token, buy_token, kind, amount, quote_kind, now, id, index) CROSS JOIN LATERAL (' +
      `(SELECT 0 AS priority, q.body, q.metadata FROM ${s}.quotes q WHERE q.id = i.id ` +
      'AND q.sell_token = i.sell_token AND q.buy_token = i.buy_token AND q.kind = i.kind AND q.amount = i.amount ' +
      `AND q.expires_at >= i.now) UNION ALL (SELECT 1, q.body, q.metadata FROM ${s}.quotes q ` +
      'WHERE q.sell_token = i.sell_token AND q.buy_token = i.buy_token AND q.kind = i.kind AND q.amount = i.amount ' +
      'AND q.quote_kind = i.quote_kind AND q.expires_at >= i.now ORDER BY q.rank DESC, q.id DESC LIMIT 1) ' +
      'ORDER BY priority LIMIT 1) m',
  );
  // The array selects the rows once. A join could evaluate the subquery for each row and find other unlocked rows.
  const prune = prepare<readonly [number]>(
    `WITH removed AS (DELETE FROM ${s}.quotes WHERE id = ANY(ARRAY` +
      `(SELECT id FROM ${s}.quotes WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)) ` +
      'RETURNING 1) SELECT count(*) FROM removed',
  );

  return {
    async insert({ quoteKind, expiresAt, rank, quote, ...terms }) {
      const kind = QUOTE_KINDS.indexOf(quoteKind);
      const values = [...toParameters(terms), kind, expiresAt, rank, quote.body, quote.metadata];
      // A quote that is stored twice is harmless: each has its own id.
      const [row] = await call('store a quote', (run) => run(insert, ...values), { repeatable: true });
      if (row === undefined) throw new Error('the server returned no id for a quote');
      return row[0];
    },

    match: createBatcher((queries: readonly QuoteQuery[]) =>
      read('match a quote', async (run) => {
        const found = new Array<OrderQuote | undefined>(queries.length);
        for (const [index, body, metadata] of await run(match, ...toColumns(queries))) {
          found[index - 1] = { body, metadata };
        }
        return found;
      }),
    ),

    prune: (now, limit) => write('remove expired quotes', async (run) => (await run(prune, now, limit))[0]?.[0] ?? 0),
  };
}

function toParameters({ sellToken, buyToken, kind, amount }: QuoteTerms): unknown[] {
  return [toBytes(sellToken), toBytes(buyToken), KINDS.indexOf(kind), amount];
}

/** Returns one array per parameter of the statement that matches quotes. */
function toColumns(queries: readonly QuoteQuery[]): unknown[] {
  return [
    toByteArray(queries.map(({ sellToken }) => toBytes(sellToken))),
    toByteArray(queries.map(({ buyToken }) => toBytes(buyToken))),
    toNumberArray(queries.map(({ kind }) => KINDS.indexOf(kind))),
    `{${queries.map(({ amount }) => amount).join()}}`,
    toNumberArray(queries.map(({ quoteKind }) => QUOTE_KINDS.indexOf(quoteKind))),
    toNumberArray(queries.map(({ now }) => now)),
    toNumberArray(queries.map(({ id }) => id ?? null)),
  ];
}
