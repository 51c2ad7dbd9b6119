import { dirname, resolve } from 'node:path';
import { isAccountFile } from '../books/open-accounts.ts';
import type { ServeOptions } from '../index.ts';
import { SERVER_SETTINGS } from '../settings/server-settings.ts';
import type { SettingTable } from '../settings/setting.ts';
import { ConfigError } from './config-errors.ts';
import { parseJsonc } from './jsonc.ts';
import { resolveHost } from './plan.ts';
import { readText } from './read-text.ts';

/**
 * Reads a configuration file. File names in it are relative to its folder. Its settings are not checked: flags and
 * variables may complete them.
 *
 * @throws ConfigError if the file cannot be read, or has no books.
 */
export async function readConfigFile(name: string): Promise<ServeOptions> {
  const path = resolve(name);
  const text = await readText(path).catch((cause: unknown) => {
    throw new ConfigError([reasonFor(cause)]);
  });
  const value = parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ConfigError(['the file must be a JSON object: { "books": [{ "chain": "sepolia" }] }']);
  }
  if (!('books' in value)) throw new ConfigError(['books is missing: { "books": [{ "chain": "sepolia" }] }']);
  return { ...value, folder: dirname(path) } as ServeOptions; // checked by `planServer`
}

/**
 * Overrides settings of a file. Members of objects, such as `coinGecko`, are overridden one by one. File names of the
 * options are relative to the current directory.
 */
export function mergeSettings(file: ServeOptions, options: ServeOptions): ServeOptions {
  const members = Object.entries(SERVER_SETTINGS as SettingTable)
    .filter(([, { type }]) => type.parts !== undefined)
    .flatMap(([key]) => {
      const [below, above] = [file, options].map((each) => (each as Record<string, object | undefined>)[key]);
      return below === undefined || above === undefined ? [] : [[key, { ...below, ...above }] as const];
    });
  return { ...file, ...options, ...resolveFiles(options), ...Object.fromEntries(members) };
}

function resolveFiles({
  accounts,
  affiliatePayouts,
  host,
}: ServeOptions): Pick<ServeOptions, 'accounts' | 'affiliatePayouts' | 'host'> {
  return {
    ...(accounts !== undefined && isAccountFile(accounts) ? { accounts: resolve(accounts) } : {}),
    ...(affiliatePayouts === undefined ? {} : { affiliatePayouts: resolve(affiliatePayouts) }),
    ...(host === undefined ? {} : { host: resolveHost(host) }),
  };
}

function parse(text: string): unknown {
  try {
    return parseJsonc(text);
  } catch (error) {
    throw new ConfigError([`the file is not JSON: ${error instanceof Error ? error.message : String(error)}`]);
  }
}

function reasonFor(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'UTF-16') return 'the file must be UTF-8, got UTF-16';
  return code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${String(code)})`;
}
