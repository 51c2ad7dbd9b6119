import type { Hex, NewDocument } from 'intentbook';
import type { Query } from './query.ts';
import { toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

/** Table of app-data documents by hash. Inserting orders stores their documents itself, see orders.ts. */
export interface PgAppDataTable {
  put(document: NewDocument, keep?: number): Promise<'stored' | 'known'>;
  get(run: Query, hash: Hex): Promise<string | undefined>;
}

export function createAppDataTable({ schema: s, prepare, call }: PostgresSession): PgAppDataTable {
  const find = prepare<readonly [string]>(`SELECT document FROM ${s}.documents WHERE hash = $1`);
  const insert = prepare(
    `INSERT INTO ${s}.documents (hash, document, referenced) VALUES ($1, $2, false) ON CONFLICT (hash) DO NOTHING ` +
      'RETURNING 1',
  );
  // A document that an order refers to concurrently is checked again after its row lock is acquired, and then kept.
  const deleteOldest = prepare(
    `DELETE FROM ${s}.documents WHERE NOT referenced AND ordinal <= ` +
      `(SELECT ordinal FROM ${s}.documents WHERE NOT referenced ORDER BY ordinal DESC OFFSET $1 LIMIT 1)`,
  );
  return {
    async put({ hash, document }, keep) {
      const store = (run: Query) => run(insert, toBytes(hash), document);
      const stored = await call('store a document', store, { repeatable: true });
      if (stored.length === 0) return 'known';
      if (keep !== undefined) await call('remove documents', (run) => run(deleteOldest, keep), { repeatable: true });
      return 'stored';
    },
    get: async (run, hash) => (await run(find, toBytes(hash)))[0]?.[0],
  };
}
