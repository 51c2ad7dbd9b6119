import type { ConvertCodes } from '../admission/convert-codes.ts';
import type { Limits } from '../admission/limits.ts';
import { lazy } from '../concurrency/lifecycle.ts';
import { OrderBookError } from '../errors.ts';
import type { AppDataStore } from '../ports/store.ts';
import { getBuiltInDocument } from '../protocol/app-data.ts';
import { type Hex, parseHex } from '../protocol/hex.ts';
import { assertKnownOptions } from '../validation/options.ts';
import type { PutDocumentOptions, PutDocumentResult } from './put.ts';

const upload = lazy(() => import('./put.ts'));

/** Creates the app-data methods of a book. `assertStarted` throws `NotStarted` if the book is not started. */
export function createAppData(
  documents: AppDataStore,
  limits: Limits,
  convertCodes: ConvertCodes,
  assertStarted: () => void,
): AppDataApi {
  return {
    async put(fullAppData, options = {}) {
      assertStarted();
      assertKnownOptions('appData.put', options, ['hash']);
      const { hash } = options;
      const expected = hash === undefined ? undefined : requireHash(hash);
      const put = upload.use(({ putDocument }) => putDocument(fullAppData, expected, documents, limits));
      return convertCodes(await put);
    },
    async get(hash) {
      assertStarted();
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

/** App-data methods. Rejections are returned; failures are thrown. */
export interface AppDataApi {
  /** Stores a document under the keccak-256 of its UTF-8 bytes. Throws `InvalidParameter` for a malformed `hash`. */
  put(fullAppData: string, options?: PutDocumentOptions): Promise<PutDocumentResult>;
  /** Returns a document byte for byte as it was stored. Throws `InvalidParameter` for a malformed `hash`. */
  get(hash: string): Promise<string | undefined>;
}
