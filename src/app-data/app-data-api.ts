import { lazy } from '../concurrency/lazy.ts';
import { OrderBookError } from '../errors.ts';
import type { AppDataApi } from '../order-book.ts';
import type { Limits } from '../orders/limits.ts';
import type { AppDataStore } from '../ports/store.ts';
import { getBuiltInDocument } from '../protocol/app-data.ts';
import type { Hex } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';
import { assertKnownOptions } from '../validation/options.ts';

const upload = lazy(() => import('./put.ts'));

/** Creates the app-data methods of a book. `assertStarted` throws `Closed` if the book is not started. */
export function createAppDataApi(documents: AppDataStore, limits: Limits, assertStarted: () => void): AppDataApi {
  return {
    async put(fullAppData, options = {}) {
      assertStarted();
      assertKnownOptions('appData.put', options, ['hash']);
      const { hash } = options;
      const expected = hash === undefined ? undefined : requireHash(hash);
      return upload.use(({ putDocument }) => putDocument(fullAppData, expected, { documents, limits }));
    },
    async get(hash) {
      const required = requireHash(hash);
      return getBuiltInDocument(required) ?? documents.get(required);
    },
  };
}

/**
 * Parses a document's hash and returns it in lower case. @throws OrderBookError `InvalidParameter` if it is not valid.
 */
function requireHash(text: string): Hex {
  const hash = parseHex(text, 32);
  if (hash !== undefined) return hash;
  throw new OrderBookError('InvalidParameter', 'hash: must be 0x and 64 hex digits', { parameter: 'hash' });
}
