import { keccak256Text } from '../crypto/keccak.ts';
import type { Hex } from './hex.ts';
import { bytesToHex } from './hex.ts';
import { isNestedDeeper, MAX_JSON_DEPTH } from './json.ts';
import type { Metadata } from './metadata.ts';
import { NO_METADATA, parseMetadata } from './metadata.ts';

/** The hash that denotes the document `{}` in orders without app data. */
export const ZERO_APP_DATA: Hex = '0x0000000000000000000000000000000000000000000000000000000000000000';

/** The document of a client that does not use app data. */
export const EMPTY_DOCUMENT = '{}';

/** The hash of the empty document. */
const EMPTY_DOCUMENT_HASH: Hex = '0xb48d38f93eaa084033fc5970bf96e559c33c4cdc07d889ab00b4d63f9590739d';

/**
 * Returns the built-in document of a hash: `{}` for its own hash, and for the zero hash, which orders without app data
 * have.
 */
export function getBuiltInDocument(hash: Hex): string | undefined {
  return hash === ZERO_APP_DATA || hash === EMPTY_DOCUMENT_HASH ? EMPTY_DOCUMENT : undefined;
}

/** The values that the protocol reads from an app-data document. All other values belong to the application. */
export type AppData = Metadata;

/** Returns the `appData` of a signed order: keccak-256 of the document's UTF-8 bytes, without re-serialisation. */
export function appDataHash(document: string): Hex {
  if (document === EMPTY_DOCUMENT) return EMPTY_DOCUMENT_HASH;
  return bytesToHex(keccak256Text(document));
}

/** Matches an unpaired surrogate: such text has no UTF-8 form, and so no hash. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/**
 * Parses the protocol's keys of a document: those of `metadata`, otherwise of `backend`. Unknown keys are ignored. See
 * docs/internals/decisions.md#d2-17.
 *
 * @returns The values, or the reason why the document is not valid.
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
