import type { DocumentPolicy } from '../admission/documents.ts';
import type { Limits } from '../admission/limits.ts';
import { lazy } from '../concurrency/lifecycle.ts';
import type { Clock } from '../ports/clock.ts';
import type { DocumentSource } from '../ports/document-source.ts';

/** Returns the rules for documents, with the queries to the document source of the book, if it has one. */
export function createDocumentPolicy({
  documents,
  documentSource: source,
  clock,
  checkTimeout: timeout,
  limits,
  onFailure,
}: {
  readonly documents: DocumentPolicy;
  readonly documentSource: DocumentSource | undefined;
  readonly clock: Clock;
  /** Milliseconds that a query of the source may take. */
  readonly checkTimeout: number;
  readonly limits: Limits;
  readonly onFailure: (failure: unknown) => void;
}): DocumentPolicy {
  if (source === undefined) return documents;
  const finder = lazy(async () => {
    const { createDocumentFinder } = await import('./find-document.ts');
    return createDocumentFinder(source, { clock, timeout, maxBytes: limits.maxAppDataSize, onFailure });
  });
  return { ...documents, find: (hash, queue) => finder.use((find) => find(hash, queue)) };
}
