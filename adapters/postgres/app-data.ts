import type { Hex, NewDocument } from 'intentbook';
import type { Query } from './query.ts';
import { toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

/** The documents behind the hashes of app data. An insert of orders keeps its own, see orders.ts. */
export interface PgAppDataTable {
  put(document: NewDocument, keep?: number): Promise<'stored' | 'known'>;
  get(run: Query, hash: Hex): Promise<string | undefined>;
}

export function createAppDataTable({ schema: s, prepare, write }: PostgresSession): PgAppDataTable {
  const find = prepare<readonly [string]>(`SELECT document FROM ${s}.documents WHERE hash = $1`);
  const insert = prepare(
    `INSERT INTO ${s}.documents (hash, document, referenced) VALUES ($1, $2, false) ON CONFLICT (hash) DO NOTHING ` +
      'RETURNING 1',
  );
  // A document that an order is just coming for is looked at again once it is ours, and then it is not ours to take.
  const makeRoom = prepare(
    `DELETE FROM ${s}.documents WHERE NOT referenced AND place <= ` +
      `(SELECT place FROM ${s}.documents WHERE NOT referenced ORDER BY place DESC OFFSET $1 LIMIT 1)`,
  );
  return {
    put: ({ hash, document }, keep) =>
      write('store a document', async (run) => {
        if ((await run(insert, toBytes(hash), document)).length === 0) return 'known';
        if (keep !== undefined) await run(makeRoom, keep);
        return 'stored';
      }),
    get: async (run, hash) => (await run(find, toBytes(hash)))[0]?.[0],
  };
}
