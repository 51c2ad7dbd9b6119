import type { Hex, NewDocument } from 'intentbook';
import type { Query } from './query.ts';
import { toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';
import { isVisible } from './sql/insert-orders.ts';

/** Creates the operations on app-data documents. The insert of orders stores their documents itself, see orders.ts. */
export function createAppDataTable({ schema: s, prepare, call }: PostgresSession) {
  const find = prepare<readonly [string]>(
    `SELECT document FROM ${s}.documents d WHERE hash = $1 AND ${isVisible('d.creators')}`,
  );
  // A document that another transaction has locked may be referred to by its order, and is kept. The statement does not
  // see the new document, so that it keeps one less.
  const insert = prepare(
    `WITH stored AS (INSERT INTO ${s}.documents AS k (hash, document, referenced) VALUES ($1, $2, false) ` +
      'ON CONFLICT (hash) DO UPDATE SET creators = NULL ' +
      `WHERE NOT ${isVisible('k.creators')} RETURNING 1), ` +
      `removed AS (DELETE FROM ${s}.documents WHERE $3::bigint IS NOT NULL AND EXISTS (SELECT FROM stored) ` +
      `AND hash = ANY(ARRAY(SELECT hash FROM ${s}.documents WHERE NOT referenced AND ordinal <= ` +
      `(SELECT ordinal FROM ${s}.documents WHERE NOT referenced ORDER BY ordinal DESC OFFSET $3::bigint - 1 LIMIT 1) ` +
      'FOR UPDATE SKIP LOCKED))) SELECT FROM stored',
  );
  return {
    async put({ hash, document }: NewDocument, keep?: number): Promise<'stored' | 'known'> {
      const store = (run: Query) => run(insert, toBytes(hash), document, keep ?? null);
      const stored = await call('store a document', store, { repeatable: true });
      return stored.length === 0 ? 'known' : 'stored';
    },
    get: async (run: Query, hash: Hex): Promise<string | undefined> => (await run(find, toBytes(hash)))[0]?.[0],
  };
}
