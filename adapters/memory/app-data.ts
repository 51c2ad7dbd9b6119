import type { NewDocument } from 'intentbook';

/** App-data documents by their hash. */
export interface MemoryAppData {
  put(document: NewDocument, keep?: number): 'known' | 'stored';
  get(hash: string): string | undefined;
  /** Marks a hash as referenced by an order until a time in seconds, and stores its document if it is new. */
  refer(hash: string, until: number, document?: NewDocument): void;
  /** Deletes documents of orders that ended before a time, at most `limit`. @returns their number. */
  prune(before: number, limit: number): number;
}

/** Creates documents without entries. */
export function createMemoryAppData(): MemoryAppData {
  const documents = new Map<string, string>();
  // Hashes of documents to which no order refers, the oldest first.
  const unreferenced = new Set<string>();
  // The time until which orders need a document, in seconds since 1970.
  const usedUntil = new Map<string, number>();

  return {
    put({ hash, document }, keep = Number.POSITIVE_INFINITY) {
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
    get: (hash) => documents.get(hash),
    refer(hash, until, document) {
      if (document !== undefined && !documents.has(document.hash)) documents.set(document.hash, document.document);
      if (documents.has(hash)) usedUntil.set(hash, Math.max(until, usedUntil.get(hash) ?? 0));
      unreferenced.delete(hash);
    },
    prune(before, limit) {
      const due = [...usedUntil].filter(([, end]) => end < before).slice(0, limit);
      for (const [hash] of due) {
        documents.delete(hash);
        usedUntil.delete(hash);
      }
      return due.length;
    },
  };
}
