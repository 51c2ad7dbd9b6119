import type { Hex, NewDocument } from 'intentbook';
import { toBytes } from './rows.ts';
import type { Run, Session } from './session.ts';

/** The documents behind the hashes of app data. An insert of orders keeps its own, see orders.ts. */
export interface Documents {
  put(document: NewDocument): Promise<'stored' | 'known'>;
  get(run: Run, hash: Hex): Promise<string | undefined>;
}

export function documentsOf({ schema: s, prepare, write }: Session): Documents {
  const find = prepare<readonly [string]>(`SELECT document FROM ${s}.documents WHERE hash = $1`);
  const insert = prepare(
    `INSERT INTO ${s}.documents (hash, document) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING RETURNING 1`,
  );
  return {
    put: ({ hash, document }) =>
      write('store a document', async (run) =>
        (await run(insert, toBytes(hash), document)).length > 0 ? 'stored' : 'known',
      ),
    get: async (run, hash) => (await run(find, toBytes(hash)))[0]?.[0],
  };
}
