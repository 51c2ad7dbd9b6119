import { OrderBookError } from '../errors.ts';
import type { AppDataStore } from '../ports/store.ts';
import { appDataHash, EMPTY_DOCUMENT, parseAppData, ZERO_APP_DATA } from '../protocol/app-data.ts';
import type { Hex } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';
import type { KnownDocument } from './candidate.ts';
import type { ParsedCreation } from './creation.ts';

const encoder = /* @__PURE__ */ new TextEncoder();

/**
 * Finds the document of an order: the one it carries, or the one behind the hash it carries (decision 2.16).
 *
 * @returns the document, or `InvalidAppData` or `AppDataHashMismatch`.
 */
export async function resolveDocument(
  creation: Pick<ParsedCreation, 'appData' | 'appDataHash'>,
  documents: AppDataStore,
  maxSize: number,
): Promise<KnownDocument | OrderBookError> {
  const { appData, appDataHash: expected } = creation;
  const hash = expected === undefined ? parseHex(appData, 32) : undefined;
  if (hash !== undefined) return lookUp(hash, documents);

  const size = encoder.encode(appData).length;
  if (size > maxSize) {
    return new OrderBookError('InvalidAppData', `the document has ${size} bytes, at most ${maxSize} are allowed`, {
      size,
      limit: maxSize,
    });
  }
  const content = parseAppData(appData);
  if (typeof content === 'string') return new OrderBookError('InvalidAppData', content);
  const actual = appDataHash(appData);
  if (expected !== undefined && expected !== actual) {
    return new OrderBookError('AppDataHashMismatch', `the document has the hash ${actual}, not ${expected}`, {
      actual,
      expected,
    });
  }
  return { hash: actual, text: appData, content, supplied: true };
}

async function lookUp(hash: Hex, documents: AppDataStore): Promise<KnownDocument | OrderBookError> {
  const text = hash === ZERO_APP_DATA ? EMPTY_DOCUMENT : await documents.get(hash);
  if (text === undefined) {
    return new OrderBookError('InvalidAppData', `no document with the hash ${hash} is known`, { hash });
  }
  const content = parseAppData(text);
  if (typeof content === 'string') return new OrderBookError('InvalidAppData', content);
  return { hash, text, content, supplied: false };
}
