import type { Hex, NewDocument } from 'intentbook';
import { toBytes } from './rows.ts';
import type { Session } from './session.ts';

/** The documents behind the hashes of app data. */
export interface Documents {
  /** Within a transaction. The first write wins. */
  keep(document: NewDocument): 'stored' | 'known';
  put(document: NewDocument): 'stored' | 'known';
  get(hash: Hex): string | undefined;
}

export function documentsOf({ prefix: p, prepare, read, write }: Session): Documents {
  const find = prepare(`SELECT document FROM ${p}documents WHERE hash = ?`).pluck();
  const known = prepare(`SELECT 1 FROM ${p}documents WHERE hash = ?`).pluck();
  const insert = prepare(`INSERT INTO ${p}documents (hash, document) VALUES (?, ?)`);

  function keep({ hash, document }: NewDocument): 'stored' | 'known' {
    const bytes = toBytes(hash);
    if (known.get(bytes) !== undefined) return 'known';
    insert.run(bytes, document);
    return 'stored';
  }

  return {
    keep,
    put: (document) => write('store a document', () => keep(document)),
    get: (hash) => read('read a document', () => find.get(toBytes(hash)) as string | undefined), // a NOT NULL text
  };
}
