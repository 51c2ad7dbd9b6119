import type { OrderQuote, QuoteTerms } from 'intentbook';
import { KINDS, QUOTE_KINDS } from '#internal';
import { toBytes } from './rows.ts';
import type { BookOperations, SqliteSession } from './session.ts';

/**
 * Creates the operations of `QuoteStore`. Each is synchronous and one atomic step. An order does not depend on its
 * quote, so quotes do not wait for the disk.
 */
export function createQuoteTable(session: SqliteSession): BookOperations['quotes'] {
  const { prefix: p, prepare, read, writeWithoutSync } = session;
  const insert = prepare(
    `INSERT INTO ${p}quotes (sell_token, buy_token, kind, amount, quote_kind, expires_at, rank, body, metadata) ` +
      'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const terms = 'sell_token = ? AND buy_token = ? AND kind = ? AND amount = ?';
  const selectById = prepare(`SELECT body, metadata FROM ${p}quotes WHERE id = ? AND ${terms} AND expires_at >= ?`);
  const best = prepare(
    `SELECT body, metadata FROM ${p}quotes WHERE ${terms} AND quote_kind = ? AND expires_at >= ? ` +
      'ORDER BY rank DESC, id DESC LIMIT 1',
  );
  const prune = prepare(
    `DELETE FROM ${p}quotes WHERE id IN ` +
      `(SELECT id FROM ${p}quotes WHERE expires_at < ? ORDER BY expires_at LIMIT ?)`,
  );

  return {
    insert: ({ quoteKind, expiresAt, rank, quote, ...common }) =>
      writeWithoutSync('store a quote', () => {
        const kind = QUOTE_KINDS.indexOf(quoteKind);
        const { lastInsertRowid } = insert.run(
          ...toParameters(common),
          kind,
          expiresAt,
          rank,
          quote.body,
          quote.metadata,
        );
        return Number(lastInsertRowid);
      }),

    match: ({ id, quoteKind, now, ...common }) =>
      read('match a quote', () => {
        const parameters = toParameters(common);
        const row =
          (id === undefined ? undefined : selectById.get(id, ...parameters, now)) ??
          best.get(...parameters, QUOTE_KINDS.indexOf(quoteKind), now);
        return row as OrderQuote | undefined; // the columns selected
      }),

    prune: (now, limit) => writeWithoutSync('remove expired quotes', () => Number(prune.run(now, limit).changes)),
  };
}

function toParameters({ sellToken, buyToken, kind, amount }: QuoteTerms): unknown[] {
  return [toBytes(sellToken), toBytes(buyToken), KINDS.indexOf(kind), amount];
}
