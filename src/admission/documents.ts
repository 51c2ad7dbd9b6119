import { OrderBookError } from '../errors.ts';
import type { AppDataStore } from '../ports/store.ts';
import { type AppData, appDataHash, getBuiltInDocument } from '../protocol/app-data.ts';
import { type Hex, parseHex } from '../protocol/hex.ts';
import { parseAppData } from '../protocol/parse-app-data.ts';

const encoder = /* @__PURE__ */ new TextEncoder();

/** A parsed app-data document. */
export interface KnownDocument {
  readonly hash: Hex;
  readonly text: string;
  readonly content: AppData;
}

/** The rules for app-data documents. */
export interface DocumentPolicy {
  /** Maximum size in bytes of UTF-8, inclusive. */
  readonly maxAppDataSize: number;
  /** Whether an order or a quote request may contain the hash of a document instead of the document. */
  readonly appDataHashForm: boolean;
  /** Finds a document that the store does not have. Absent: there is no other source. */
  readonly find?: FindDocument | undefined;
}

/** The app-data fields of an order or a quote request. */
export interface GivenAppData {
  /** The document, or the 32-byte hash of a known document. */
  readonly appData: string;
  /** If given, `appData` must be a document with this hash. */
  readonly appDataHash: Hex | undefined;
}

/**
 * Returns the document of an order: the included document, or the stored one with the given hash. See
 * docs/internals/decisions.md#d2-16.
 *
 * @returns The document, or `InvalidAppData` or `AppDataHashMismatch`.
 */
export async function resolveDocument(
  { appData, appDataHash: expected }: GivenAppData,
  documents: AppDataStore,
  policy: DocumentPolicy,
): Promise<KnownDocument | OrderBookError> {
  const hash = expected === undefined ? parseHex(appData, 32) : undefined;
  if (hash === undefined) return requireSupported(readDocument(appData, expected, policy.maxAppDataSize));
  if (policy.appDataHashForm) return requireSupported(await loadDocument(hash, documents, policy.find));
  return new OrderBookError('InvalidAppData', 'appData must be a document, hashes are not accepted', { hash });
}

/** Rejects a document that requests a settlement outside of auctions: solvers would not know of it. */
function requireSupported(document: KnownDocument | OrderBookError): KnownDocument | OrderBookError {
  if (document instanceof OrderBookError || !document.content.fastPath) return document;
  const reason = 'enableFastPath is not supported';
  return new OrderBookError('InvalidAppData', reason, { hash: document.hash, reason });
}

/**
 * Parses a document and verifies the expected hash, if any.
 *
 * @returns The document, or `InvalidAppData` or `AppDataHashMismatch`.
 */
export function readDocument(text: string, expected: Hex | undefined, maxSize: number): KnownDocument | OrderBookError {
  // A UTF-16 code unit takes at most three bytes, so most documents need not be encoded.
  const size = 3 * text.length <= maxSize ? 0 : encoder.encode(text).length;
  if (size > maxSize) {
    const description = `the document must have at most ${maxSize} bytes, got ${size}`;
    return new OrderBookError('InvalidAppData', description, { size, limit: maxSize });
  }
  const content = parseAppData(text);
  if (typeof content === 'string') return new OrderBookError('InvalidAppData', content, { reason: content });
  const actual = appDataHash(text);
  if (expected !== undefined && expected !== actual) {
    const description = `the hash of the document must be ${expected}, got ${actual}`;
    return new OrderBookError('AppDataHashMismatch', description, { actual, expected });
  }
  return { hash: actual, text, content };
}

/**
 * Loads the document with a hash, from the store or from another source.
 *
 * @returns The document, `InvalidAppData`, or `InternalServerError` if the other source fails.
 */
export async function loadDocument(
  hash: Hex,
  documents: AppDataStore,
  find?: FindDocument,
): Promise<KnownDocument | OrderBookError> {
  const text = getBuiltInDocument(hash) ?? (await documents.get(hash)) ?? (await find?.(hash).catch(toRejection));
  if (text instanceof OrderBookError) return text;
  if (text === undefined) {
    return new OrderBookError('InvalidAppData', `there is no document with the hash ${hash}`, { hash });
  }
  const content = parseAppData(text);
  if (typeof content === 'string') return new OrderBookError('InvalidAppData', content, { hash, reason: content });
  return { hash, text, content };
}

function toRejection(failure: unknown): OrderBookError {
  if (failure instanceof OrderBookError) return failure;
  throw failure;
}

/**
 * Finds a document that the store does not have. Throws an `OrderBookError` if the source fails. Orders of the chain
 * have a queue for themselves, which clients cannot fill: their documents are not queried again later.
 */
export type FindDocument = (hash: Hex, queue?: 'clients' | 'chain') => Promise<string | undefined>;
