import { OrderBookError } from '../errors.ts';
import type { AppDataStore } from '../ports/store.ts';
import type { AppData } from '../protocol/app-data.ts';
import { appDataHash, EMPTY_DOCUMENT, parseAppData, ZERO_APP_DATA } from '../protocol/app-data.ts';
import type { Hex } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';

const encoder = /* @__PURE__ */ new TextEncoder();

/** An app-data document that has been read. */
export interface KnownDocument {
  readonly hash: Hex;
  readonly text: string;
  readonly content: AppData;
}

/** Which documents a book takes. */
export interface DocumentPolicy {
  /** Bytes of UTF-8, inclusive. */
  readonly maxAppDataSize: number;
  /** Whether an order or a quote request may give the hash of a document instead of the document. */
  readonly appDataHashForm: boolean;
}

/** App data as an order or a quote request gives it (contract, appData rule 1). */
export interface GivenAppData {
  /** The document itself, or the 32-byte hash of one that is known. */
  readonly appData: string;
  /** When given, `appData` is a document and must have this hash. */
  readonly appDataHash: Hex | undefined;
}

/**
 * Finds the document that an order names: the one it carries, or the one behind the hash it carries (decision 2.16).
 *
 * @returns the document, or `InvalidAppData` or `AppDataHashMismatch`.
 */
export async function resolveDocument(
  { appData, appDataHash: expected }: GivenAppData,
  documents: AppDataStore,
  policy: DocumentPolicy,
): Promise<KnownDocument | OrderBookError> {
  const hash = expected === undefined ? parseHex(appData, 32) : undefined;
  if (hash === undefined) return readDocument(appData, expected, policy.maxAppDataSize);
  if (policy.appDataHashForm) return lookUp(hash, documents);
  return new OrderBookError('InvalidAppData', 'appData must be the document, hashes are not accepted here', { hash });
}

/**
 * Reads a document and verifies its hash, where one is expected.
 *
 * @returns the document, or `InvalidAppData` or `AppDataHashMismatch`.
 */
export function readDocument(text: string, expected: Hex | undefined, maxSize: number): KnownDocument | OrderBookError {
  const size = encoder.encode(text).length;
  if (size > maxSize) {
    const description = `the document has ${size} bytes, at most ${maxSize} are allowed`;
    return new OrderBookError('InvalidAppData', description, { size, limit: maxSize });
  }
  const content = parseAppData(text);
  if (typeof content === 'string') return new OrderBookError('InvalidAppData', content, { reason: content });
  const actual = appDataHash(text);
  if (expected !== undefined && expected !== actual) {
    const description = `the document has the hash ${actual}, not ${expected}`;
    return new OrderBookError('AppDataHashMismatch', description, { actual, expected });
  }
  return { hash: actual, text, content };
}

/** Finds the document behind a hash. @returns the document, or `InvalidAppData`. */
export async function lookUp(hash: Hex, documents: AppDataStore): Promise<KnownDocument | OrderBookError> {
  const text = hash === ZERO_APP_DATA ? EMPTY_DOCUMENT : await documents.get(hash);
  if (text === undefined) {
    return new OrderBookError('InvalidAppData', `no document with the hash ${hash} is known`, { hash });
  }
  const content = parseAppData(text);
  if (typeof content === 'string') return new OrderBookError('InvalidAppData', content, { hash, reason: content });
  return { hash, text, content };
}
