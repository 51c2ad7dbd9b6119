import { createKey, hashKey } from '../http/api-keys.ts';

/** Creates an API key, which is not stored, and its element of `apiKeys` in the configuration file. */
export function createNamedKey(name: string) {
  const key = createKey();
  return { key, entry: { name, hash: hashKey(key) } };
}

/** Formats a new key for a terminal. */
export function formatKey({ key, entry }: ReturnType<typeof createNamedKey>): string {
  const { name, hash } = entry;
  return [
    key,
    '',
    'The key is shown once and is not stored. Its client sends it in the header X-API-Key.',
    'Add this line to "apiKeys" of the configuration file and restart the server:',
    `  { "name": ${JSON.stringify(name)}, "hash": "${hash}" },`,
  ].join('\n');
}
