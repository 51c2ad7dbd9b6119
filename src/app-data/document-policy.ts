import { lazy } from '../concurrency/lazy.ts';
import type { Configuration } from '../options.ts';
import type { DocumentPolicy } from './documents.ts';

/** Returns the rules for documents, with the queries to the document source of the book, if it has one. */
export function createDocumentPolicy(
  { documents, documentSource: source, clock, checkTimeout: timeout, limits }: Configuration,
  onFailure: (failure: unknown) => void,
): DocumentPolicy {
  if (source === undefined) return documents;
  const finder = lazy(async () => {
    const { createDocumentFinder } = await import('./find-document.ts');
    return createDocumentFinder(source, { clock, timeout, maxBytes: limits.maxAppDataSize, onFailure });
  });
  return { ...documents, find: (hash) => finder.use((find) => find(hash)) };
}
