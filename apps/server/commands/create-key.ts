import { createKey, hashKey } from '../http/api-keys.ts';

/** A new API key. Only its hash is configured. */
export interface CreatedKey {
  readonly key: string;
  /** The element of `apiKeys` in the configuration file. */
  readonly entry: { readonly name: string; readonly hash: string };
}

/** Creates an API key. It is not stored. */
export function createNamedKey(name: string): CreatedKey {
  const key = createKey();
  return { key, entry: { name, hash: hashKey(key) } };
}

/** Formats a new key for a terminal. */
export function formatKey({ key, entry }: CreatedKey): string {
  const { name, hash } = entry;
  return [
    key,
    '',
    'The key is shown once and is not stored. Its client sends it in the header X-API-Key.',
    'Add this line to "apiKeys" of the configuration file and restart the server:',
    `  { "name": ${JSON.stringify(name)}, "hash": "${hash}" },`,
  ].join('\n');
}
