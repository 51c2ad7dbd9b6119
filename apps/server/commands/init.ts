import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { BOOK_SETTINGS, COMMON_SETTINGS } from '../settings/book-settings.ts';
import { SERVER_SETTINGS } from '../settings/server-settings.ts';
import { describeSetting, type Setting, toPlainText } from '../settings/setting.ts';
import { nameFile } from './output.ts';

/** Settings that a new configuration file shows. The others are in the reference. */
const SERVER_KEYS = ['host', 'port', 'metricsPort', 'trustedProxies', 'operatorToken', 'accounts'] as const;
const COMMON_KEYS = ['postgres', 'maxOpenOrders', 'maxAppDataSize', 'retention', 'rpc', 'solvers'] as const;

/** Examples of settings without a default. */
const EXAMPLES: Readonly<Record<string, string>> = {
  metricsPort: '9464',
  trustedProxies: '["127.0.0.1"]',
  operatorToken: '"a-token-of-16-or-more-characters"',
  accounts: '"accounts.sqlite"',
  maxAppDataSize: '8192',
  postgres: '"postgres://user:password@localhost:5432/books"',
  retention: '90',
  rpc: '["http://127.0.0.1:8545"]',
  solvers: '["http://127.0.0.1:7872"]',
};

/** Path of the schema beside a configuration file in a project that has the package. */
const SCHEMA = './node_modules/intentbook/dist/config.schema.json';

/**
 * Returns a configuration file with comments, which serves one book. Without its comments, it is JSON.
 *
 * @param schema - Path of the schema. Default: none.
 */
export function configTemplate(chain: string | number, schema?: string): string {
  const server = SERVER_KEYS.map((key) => comment(key, SERVER_SETTINGS[key], '  '));
  const common = COMMON_KEYS.map((key) => comment(key, COMMON_SETTINGS[key], '    '));
  return `{
  // This file is JSON with comments. All settings:
  // https://github.com/intentbook/intentbook/blob/main/docs/deploy/configuration.md
${schema === undefined ? '' : `  "$schema": ${JSON.stringify(schema)},\n`}
${server.join('\n')}

  // Settings of all books.
  "defaults": {
${common.join('\n')}
  },

  "books": [
    {
      // ${toPlainText(BOOK_SETTINGS.chain.help)}
      "chain": ${JSON.stringify(chain)}
    }
  ]
}
`;
}

function comment(key: string, setting: Setting, indent: string): string {
  const value = setting.default === undefined ? EXAMPLES[key] : JSON.stringify(setting.default);
  const example = EXAMPLES[key] ?? value ?? 'null';
  return `${indent}// ${toPlainText(describeSetting(setting))}\n${indent}// "${key}": ${example},`;
}

/**
 * Writes a new configuration file, which may get secrets: other users of the machine cannot read it.
 *
 * @throws Error if the file exists, or if its folder does not.
 */
export async function initConfig(file: string, chain: string | number): Promise<string> {
  const path = resolve(file);
  const schema = existsSync(resolve(dirname(path), SCHEMA)) ? SCHEMA : undefined;
  await writeFile(path, configTemplate(chain, schema), { flag: 'wx', mode: 0o600 }).catch(async (cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    // Otherwise the next attempt would find it.
    if (Object(cause).syscall === 'write') await rm(path, { force: true });
    if (code === 'EEXIST') throw new Error(`the file "${path}" already exists`);
    throw code === 'ENOENT'
      ? new Error(`the folder "${dirname(path)}" does not exist; create it first`)
      : nameFile(path, cause);
  });
  return path;
}
