import { keccak256Text } from '../crypto/keccak.ts';
import type { Hex } from './hex.ts';
import { bytesToHex } from './hex.ts';
import { isNestedDeeper, MAX_JSON_DEPTH } from './json.ts';
import type { Metadata } from './metadata.ts';
import { NO_METADATA, parseMetadata } from './metadata.ts';

/** The hash that stands for the document `{}` in orders that carry no app data. */
export const ZERO_APP_DATA: Hex = '0x0000000000000000000000000000000000000000000000000000000000000000';

/** The document of a client that does not care about app data (contract, appData rule 5). */
export const EMPTY_DOCUMENT = '{}';

/** What the protocol reads from an app-data document. Everything else in it belongs to the application. */
export type AppData = Metadata;

/** The `appData` of a signed order: keccak-256 of the document's UTF-8 bytes, never of a re-serialisation. */
export function appDataHash(document: string): Hex {
  return bytesToHex(keccak256Text(document));
}

/** Half of a surrogate pair without the other: text that has no UTF-8 form, and so no hash of its own. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/**
 * Reads the protocol's keys from a document: those of `metadata`, else of `backend` (decision 2.17). Unknown keys pass.
 *
 * @returns what the document says, or why it is none.
 */
export function parseAppData(document: string): AppData | string {
  if (document === EMPTY_DOCUMENT) return NO_METADATA;
  if (LONE_SURROGATE.test(document)) return 'the document is not well-formed Unicode';
  if (isNestedDeeper(document, MAX_JSON_DEPTH)) return `the document is nested deeper than ${MAX_JSON_DEPTH}`;
  let root: unknown;
  try {
    root = JSON.parse(document);
  } catch {
    return 'the document is not JSON';
  }
  if (!isObject(root)) return 'the document is not a JSON object';
  const name = isPresent(root['metadata']) ? 'metadata' : 'backend';
  const metadata = root[name];
  return isPresent(metadata) ? parseMetadata(metadata, name) : NO_METADATA;
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
