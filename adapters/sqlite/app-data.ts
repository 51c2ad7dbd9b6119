import type { Hex, NewDocument } from 'intentbook';
import { toBytes } from './rows.ts';
import type { SqliteSession } from './session.ts';

/** Table of app-data documents by hash. */
export type AppDataTable = ReturnType<typeof createAppDataTable>;

/** Seconds that a document is needed longer than its orders, so that most orders do not change its row. */
const MARGIN = 604_800;

/** Creates the operations on documents. `put` runs in its own transaction. */
export function createAppDataTable({ prefix: p, prepare, read, write }: SqliteSession) {
  const selectDocument = prepare(`SELECT document FROM ${p}documents WHERE hash = ?`).pluck();
  const selectUse = prepare(`SELECT used_until FROM ${p}documents WHERE hash = ?`).pluck();
  const insert = prepare(`INSERT INTO ${p}documents (hash, document, referenced, used_until) VALUES (?, ?, ?, ?)`);
  const markReferenced = prepare(`UPDATE ${p}documents SET referenced = 1, used_until = ? WHERE hash = ?`);
  const deleteOldest = prepare(
    `DELETE FROM ${p}documents WHERE id IN (SELECT id FROM ${p}documents INDEXED BY ${p}documents_unreferenced ` +
      'WHERE referenced = 0 ORDER BY id DESC LIMIT -1 OFFSET ?)',
  );

  return {
    /**
     * Marks a hash as referenced by an order until a time in seconds since 1970, and stores its document. The first
     * write wins. Must run within a transaction.
     */
    refer(hash: Hex, until: number, document: NewDocument | undefined): void {
      const bytes = toBytes(hash);
      const usedUntil = selectUse.get(bytes) as number | undefined; // an integer column; 0 before the first order
      if (usedUntil !== undefined && usedUntil <= until) markReferenced.run(until + MARGIN, bytes);
      if (usedUntil === undefined && document !== undefined) insert.run(bytes, document.document, 1, until + MARGIN);
    },
    put: ({ hash, document }: NewDocument, keep?: number): 'stored' | 'known' =>
      write('store a document', () => {
        const bytes = toBytes(hash);
        if (selectUse.get(bytes) !== undefined) return 'known';
        insert.run(bytes, document, 0, 0);
        if (keep !== undefined) deleteOldest.run(keep);
        return 'stored';
      }),
    // A NOT NULL text.
    get: (hash: Hex): string | undefined =>
      read('read a document', () => selectDocument.get(toBytes(hash)) as string | undefined),
  };
}
