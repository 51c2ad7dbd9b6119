import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DOMAIN } from '../../conformance/harness.ts';

const require = createRequire(import.meta.url);
require('secp256k1/bindings.js');
/** The addon of the package secp256k1, which exports the functions of its libsecp256k1. */
const ADDON = Object.keys(require.cache).find((path) => /secp256k1.*\.node$/.test(path)) ?? '';
/** The built package, with the entry that loads libraries. */
const PACKAGE = fileURLToPath(new URL('../../../dist/index.js', import.meta.url));

/** Returns the backend that a process selects if the linker finds this file as the newest libsecp256k1. */
function selectWith(library: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-library-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const abi of [0, 1, 2, 5, 6, 7]) symlinkSync(library, join(folder, `libsecp256k1.so.${abi}`));
  const code = `
    const { createVerifier } = await import(${JSON.stringify(PACKAGE)});
    process.stdout.write((await createVerifier(${JSON.stringify(DOMAIN)})).backend);`;
  const env = { ...process.env, LD_LIBRARY_PATH: folder };
  return execFileSync(process.execPath, ['--input-type=module', '-e', code], { env, encoding: 'utf8' });
}

describe.skipIf(process.platform !== 'linux')('default recovery backend', () => {
  test('is the library of the system', () => expect(selectWith(ADDON)).toBe('system'));
  test('is the package secp256k1 if the library has no recovery', () => expect(selectWith('/dev/null')).toBe('native'));
});
