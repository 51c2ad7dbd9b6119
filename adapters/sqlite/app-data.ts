import type { Hex, NewDocument } from 'intentbook';
import { toBytes } from './rows.ts';
import type { SqliteSession } from './session.ts';

/** Table of app-data documents by hash. */
export interface AppDataTable {
  /** Marks a hash as referenced by an order and stores its document. The first write wins. Within a transaction. */
  refer(hash: Hex, document: NewDocument | undefined): void;
  put(document: NewDocument, keep?: number): 'stored' | 'known';
  get(hash: Hex): string | undefined;
}

export function createAppDataTable({ prefix: p, prepare, read, write }: SqliteSession): AppDataTable {
  const selectDocument = prepare(`SELECT document FROM ${p}documents WHERE hash = ?`).pluck();
  const selectReferenced = prepare(`SELECT referenced FROM ${p}documents WHERE hash = ?`).pluck();
  const insert = prepare(`INSERT INTO ${p}documents (hash, document, referenced) VALUES (?, ?, ?)`);
  const markReferenced = prepare(`UPDATE ${p}documents SET referenced = 1 WHERE hash = ?`);
  const deleteOldest = prepare(
    `DELETE FROM ${p}documents WHERE id IN (SELECT id FROM ${p}documents INDEXED BY ${p}documents_unreferenced ` +
      'WHERE referenced = 0 ORDER BY id DESC LIMIT -1 OFFSET ?)',
  );

  return {
    refer(hash, document) {
      const bytes = toBytes(hash);
      const referenced = selectReferenced.get(bytes);
      if (referenced === 0) markReferenced.run(bytes);
      if (referenced === undefined && document !== undefined) insert.run(bytes, document.document, 1);
    },
    put: ({ hash, document }, keep) =>
      write('store a document', () => {
        const bytes = toBytes(hash);
        if (selectReferenced.get(bytes) !== undefined) return 'known';
        insert.run(bytes, document, 0);
        if (keep !== undefined) deleteOldest.run(keep);
        return 'stored';
      }),
    // A NOT NULL text.
    get: (hash) => read('read a document', () => selectDocument.get(toBytes(hash)) as string | undefined),
  };
}
