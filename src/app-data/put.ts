import * as z from 'zod/mini';
import { OrderBookError } from '../errors.ts';
import type { AppDataStore } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';
import { parseShape } from '../protocol/shape.ts';
import { readDocument } from './documents.ts';

/** Options of a document upload. */
export interface PutDocumentOptions {
  /** The hash that the document must have, 32 bytes. Default: not checked. */
  readonly hash?: string | undefined;
}

/** The result of a document upload. */
export type PutDocumentResult =
  | { readonly status: 'stored' | 'known'; readonly hash: Hex }
  | { readonly status: 'rejected'; readonly error: OrderBookError };

export interface PutDocumentContext {
  readonly documents: AppDataStore;
  readonly limits: { readonly maxAppDataSize: number; readonly maxUnreferencedDocuments: number };
}

const document = /* @__PURE__ */ z.object({ fullAppData: z.string() });

/**
 * Stores a document under its hash, which is verified. Uploads need no signature, so the number of documents without an
 * order is limited. See docs/internals/decisions.md#d2-19.
 */
export async function putDocument(
  fullAppData: unknown,
  { hash }: PutDocumentOptions,
  { documents, limits }: PutDocumentContext,
): Promise<PutDocumentResult> {
  const expected = hash === undefined ? undefined : requireHash(hash);
  const input = parseShape(document, { fullAppData });
  if (input instanceof OrderBookError) return { status: 'rejected', error: input };
  const parsed = readDocument(input.fullAppData, expected, limits.maxAppDataSize);
  if (parsed instanceof OrderBookError) return { status: 'rejected', error: parsed };
  const status = await documents.put({ hash: parsed.hash, document: parsed.text }, limits.maxUnreferencedDocuments);
  return { status, hash: parsed.hash };
}

/**
 * Parses a document's hash and returns it in lower case. @throws OrderBookError `InvalidParameter` if it is not valid.
 */
export function requireHash(text: string): Hex {
  const hash = parseHex(text, 32);
  if (hash !== undefined) return hash;
  throw new OrderBookError('InvalidParameter', 'hash: must be 0x and 64 hex digits', { parameter: 'hash' });
}
