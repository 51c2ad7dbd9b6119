import type { NewDocument } from 'intentbook';

/** App-data documents by their hash. */
export interface MemoryAppData {
  put(document: NewDocument, keep?: number): 'known' | 'stored';
  get(hash: string): string | undefined;
  /** Marks a hash as referenced by an order and stores its document if it is new. */
  refer(hash: string, document?: NewDocument): void;
}

export function createMemoryAppData(): MemoryAppData {
  const documents = new Map<string, string>();
  // Hashes of documents to which no order refers, the oldest first.
  const unreferenced = new Set<string>();

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
    refer(hash, document) {
      if (document !== undefined && !documents.has(document.hash)) documents.set(document.hash, document.document);
      unreferenced.delete(hash);
    },
  };
}
