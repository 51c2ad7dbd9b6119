import * as z from 'zod/mini';
import { OrderBookError } from '../errors.ts';
import type { AppDataStore } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';
import { parseShape } from '../protocol/shape.ts';
import { readDocument } from './documents.ts';

/** What an uploaded document is held against. */
export interface PutDocumentOptions {
  /** The hash that the document must have, 32 bytes. Absent: whatever it has. */
  readonly hash?: string | undefined;
}

/** What became of a document. */
export type PutDocumentResult =
  | { readonly status: 'stored' | 'known'; readonly hash: Hex }
  | { readonly status: 'rejected'; readonly error: OrderBookError };

export interface PutDocumentContext {
  readonly documents: AppDataStore;
  readonly limits: { readonly maxAppDataSize: number; readonly maxUnreferencedDocuments: number };
}

const document = /* @__PURE__ */ z.object({ fullAppData: z.string() });

/**
 * Stores a document under its hash, which is verified (decision 2.19). Nobody signs for it, so that only so many are
 * kept as long as no order refers to them.
 */
export async function putDocument(
  fullAppData: unknown,
  { hash }: PutDocumentOptions,
  { documents, limits }: PutDocumentContext,
): Promise<PutDocumentResult> {
  const expected = hash === undefined ? undefined : requireHash(hash);
  const shaped = parseShape(document, { fullAppData });
  if (shaped instanceof OrderBookError) return { status: 'rejected', error: shaped };
  const read = readDocument(shaped.fullAppData, expected, limits.maxAppDataSize);
  if (read instanceof OrderBookError) return { status: 'rejected', error: read };
  const status = await documents.put({ hash: read.hash, document: read.text }, limits.maxUnreferencedDocuments);
  return { status, hash: read.hash };
}

/** A document's hash in lower case. @throws OrderBookError `InvalidParameter` when it is none. */
export function requireHash(text: string): Hex {
  const hash = parseHex(text, 32);
  if (hash !== undefined) return hash;
  throw new OrderBookError('InvalidParameter', 'hash: must be 0x and 64 hex digits', { parameter: 'hash' });
}
