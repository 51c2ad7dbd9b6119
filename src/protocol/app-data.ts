import { keccak256Text } from '../crypto/keccak.ts';
import { bytesToHex, type Hex } from './hex.ts';
import type { Metadata } from './metadata.ts';

/** The hash that denotes the document `{}` in orders without app data. */
export const ZERO_APP_DATA: Hex = '0x0000000000000000000000000000000000000000000000000000000000000000';

/** The document of a client that does not use app data. */
export const EMPTY_DOCUMENT = '{}';

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
