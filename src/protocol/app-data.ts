import { keccak256Text } from '../crypto/keccak.ts';
import type { Address, Hex } from './hex.ts';
import { bytesToHex, parseHex } from './hex.ts';

/** The hash that stands for the document `{}` in orders that carry no app data. */
export const ZERO_APP_DATA: Hex = '0x0000000000000000000000000000000000000000000000000000000000000000';

/** The document of a client that does not care about app data (contract, appData rule 5). */
export const EMPTY_DOCUMENT = '{}';

/** What the protocol reads from an app-data document. Everything else in it belongs to the application. */
export interface AppData {
  /** Who signs, for schemes whose signature does not tell. */
  readonly signer: Address | undefined;
}

/** The `appData` of a signed order: keccak-256 of the document's UTF-8 bytes, never of a re-serialisation. */
export function appDataHash(document: string): Hex {
  return bytesToHex(keccak256Text(document));
}

/**
 * Reads the protocol's keys from a document: those of `metadata`, else of `backend`. Unknown keys pass.
 *
 * @returns what the document says, or why it is none.
 */
export function parseAppData(document: string): AppData | string {
  let root: unknown;
  try {
    root = JSON.parse(document);
  } catch {
    return 'the document is not JSON';
  }
  if (!isObject(root)) return 'the document is not a JSON object';
  const metadata = root['metadata'] ?? root['backend'] ?? {};
  if (!isObject(metadata)) return 'metadata is not an object';
  const { signer } = metadata;
  if (signer === undefined || signer === null) return { signer: undefined };
  const address = parseHex(signer, 20);
  return address === undefined ? 'metadata.signer is not an address' : { signer: address };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
