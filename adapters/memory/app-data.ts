import type { NewDocument } from 'intentbook';

/** App-data documents by their hash. */
export type MemoryAppData = ReturnType<typeof createMemoryAppData>;

/** Creates documents without entries. */
export function createMemoryAppData() {
  const documents = new Map<string, string>();
  // Hashes of documents to which no order refers, the oldest first.
  const unreferenced = new Set<string>();
  // The time until which orders need a document, in seconds since 1970.
  const usedUntil = new Map<string, number>();

  return {
    put({ hash, document }: NewDocument, keep: number = Number.POSITIVE_INFINITY): 'known' | 'stored' {
      if (documents.has(hash)) return 'known';
      documents.set(hash, document);
      unreferenced.add(hash);
      for (const oldest of unreferenced) {
        if (unreferenced.size <= keep) break;
        unreferenced.delete(oldest);
        documents.delete(oldest);
      }
      return 'stored';
    },
    get: (hash: string): string | undefined => documents.get(hash),
    /** Marks a hash as referenced by an order until a time in seconds, and stores its document if it is new. */
    refer(hash: string, until: number, document?: NewDocument): void {
      if (document !== undefined && !documents.has(document.hash)) documents.set(document.hash, document.document);
      if (documents.has(hash)) usedUntil.set(hash, Math.max(until, usedUntil.get(hash) ?? 0));
      unreferenced.delete(hash);
    },
    /** Deletes documents of orders that ended before a time, at most `limit`. @returns their number. */
    prune(before: number, limit: number): number {
      const due = [...usedUntil].filter(([, end]) => end < before).slice(0, limit);
      for (const [hash] of due) {
        documents.delete(hash);
        usedUntil.delete(hash);
      }
      return due.length;
    },
  };
}
