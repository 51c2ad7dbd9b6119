import * as z from 'zod/mini';
import { readDocument } from '../admission/documents.ts';
import type { Limits } from '../admission/limits.ts';
import { OrderBookError } from '../errors.ts';
import type { AppDataStore } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import { parseShape } from '../protocol/shape.ts';

/** Options of a document upload. */
export interface PutDocumentOptions {
  /** The hash that the document must have, 32 bytes. Default: not checked. */
  readonly hash?: string | undefined;
}

/** The result of a document upload. */
export type PutDocumentResult =
  | { readonly status: 'stored' | 'known'; readonly hash: Hex }
  | { readonly status: 'rejected'; readonly error: OrderBookError };

const document = /* @__PURE__ */ z.object({ fullAppData: z.string() });

/**
 * Stores a document under its hash, which is verified. Uploads need no signature, so the number of documents without an
 * order is limited. See docs/internals/decisions.md#d2-19.
 *
 * @param expected - The hash that the document must have, if any.
 */
export async function putDocument(
  fullAppData: unknown,
  expected: Hex | undefined,
  documents: AppDataStore,
  limits: Pick<Limits, 'maxAppDataSize' | 'maxUnreferencedDocuments'>,
): Promise<PutDocumentResult> {
  const input = parseShape(document, { fullAppData });
  if (input instanceof OrderBookError) return { status: 'rejected', error: input };
  const parsed = readDocument(input.fullAppData, expected, limits.maxAppDataSize);
  if (parsed instanceof OrderBookError) return { status: 'rejected', error: toUploadError(parsed) };
  const status = await documents.put({ hash: parsed.hash, document: parsed.text }, limits.maxUnreferencedDocuments);
  return { status, hash: parsed.hash };
}

/** Marks a malformed document as an upload, whose code differs between the profiles. */
function toUploadError(error: OrderBookError): OrderBookError {
  const { code, message, data } = error;
  return code === 'InvalidAppData' ? new OrderBookError(code, message, data, 'upload') : error;
}
