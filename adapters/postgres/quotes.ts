import type { QuoteStore, QuoteTerms } from 'intentbook';
import { KINDS, QUOTE_KINDS, toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

/** Creates the quote operations. Reads use the primary: a replica may lack the quote of a recent order. */
export function createQuoteTable({ schema: s, prepare, read, write }: PostgresSession): QuoteStore {
  const insert = prepare<readonly [number]>(
    `INSERT INTO ${s}.quotes (sell_token, buy_token, kind, amount, quote_kind, expires_at, rank, body, metadata) ` +
      'VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id',
  );
  // A matching quote with the given id takes precedence.
  const match = prepare<readonly [body: string, metadata: string]>(
    `SELECT body, metadata FROM ((SELECT 0 AS priority, body, metadata FROM ${s}.quotes ` +
      'WHERE id = $7 AND sell_token = $1 AND buy_token = $2 AND kind = $3 AND amount = $4 AND expires_at >= $6) ' +
      `UNION ALL (SELECT 1, body, metadata FROM ${s}.quotes ` +
      'WHERE sell_token = $1 AND buy_token = $2 AND kind = $3 AND amount = $4 AND quote_kind = $5 ' +
      'AND expires_at >= $6 ORDER BY rank DESC, id DESC LIMIT 1)) matches ORDER BY priority LIMIT 1',
  );
  // The array selects the rows once. A join could evaluate the subquery for each row and find other unlocked rows.
  const prune = prepare<readonly [number]>(
    `WITH removed AS (DELETE FROM ${s}.quotes WHERE id = ANY(ARRAY` +
      `(SELECT id FROM ${s}.quotes WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)) ` +
      'RETURNING 1) SELECT count(*) FROM removed',
  );

  return {
    insert: ({ quoteKind, expiresAt, rank, quote, ...terms }) =>
      write('store a quote', async (run) => {
        const kind = QUOTE_KINDS.indexOf(quoteKind);
        const [row] = await run(insert, ...toParameters(terms), kind, expiresAt, rank, quote.body, quote.metadata);
        if (row === undefined) throw new Error('the server returned no id for a quote');
        return row[0];
      }),

    match: ({ id, quoteKind, now, ...terms }) =>
      read('match a quote', async (run) => {
        const [row] = await run(match, ...toParameters(terms), QUOTE_KINDS.indexOf(quoteKind), now, id ?? null);
        return row === undefined ? undefined : { body: row[0], metadata: row[1] };
      }),

    prune: (now, limit) => write('remove expired quotes', async (run) => (await run(prune, now, limit))[0]?.[0] ?? 0),
  };
}

function toParameters({ sellToken, buyToken, kind, amount }: QuoteTerms): unknown[] {
  return [toBytes(sellToken), toBytes(buyToken), KINDS.indexOf(kind), amount];
}
