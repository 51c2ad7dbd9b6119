import type { AppDataApi } from '../order-book.ts';
import type { Limits } from '../orders/limits.ts';
import type { AppDataStore } from '../ports/store.ts';
import { getBuiltInDocument } from '../protocol/app-data.ts';
import { putDocument, requireHash } from './put.ts';

/** Creates the app-data methods of a book. `assertStarted` throws `Closed` if the book is not started. */
export function createAppDataApi(documents: AppDataStore, limits: Limits, assertStarted: () => void): AppDataApi {
  return {
    async put(fullAppData, options = {}) {
      assertStarted();
      return putDocument(fullAppData, options, { documents, limits });
    },
    async get(hash) {
      const required = requireHash(hash);
      return getBuiltInDocument(required) ?? documents.get(required);
    },
  };
}
