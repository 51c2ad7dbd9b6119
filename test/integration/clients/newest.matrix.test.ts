import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { BRIDGING_PACKAGES, FLASH_LOAN_PACKAGES } from '../../support/published-packages.ts';

const run = promisify(execFile);
const read = (path: string) => JSON.parse(readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8'));

/** The published clients that the tests run. */
const CLIENTS = Object.entries<string>(read('package.json').devDependencies).filter(([name]) =>
  name.startsWith('@cowprotocol/'),
);

/** Reads members of a package from the registry. @returns `undefined` if it cannot be reached or lacks the package. */
async function view(spec: string, ...members: readonly string[]): Promise<unknown> {
  // The versions in the report are those of the registry, so the cache of npm is not used.
  const args = ['view', spec, ...members, '--json', '--prefer-online', '--fetch-retries=0', '--fetch-timeout=10000'];
  const text = await run('npm', args, { timeout: 30_000 }).then(
    ({ stdout }) => stdout,
    () => '',
  );
  return text.trim() === '' ? undefined : JSON.parse(text);
}

/** Describes a newer version of a client. `undefined` if there is none, or if the registry cannot be reached. */
async function describeNewer(name: string, tested: string): Promise<string | undefined> {
  const newest = await view(name, 'version', 'dependencies');
  const { version = tested, dependencies = {} } = (newest ?? {}) as {
    version?: string;
    dependencies?: Record<string, string>;
  };
  if (version === tested) return undefined;
  const own = Object.entries(dependencies).filter(([each]) => each.startsWith('@cowprotocol/'));
  for (const [each, range] of own) {
    if ((await view(`${each}@${range}`, 'version')) === undefined)
      return `${name} ${version} is newer than ${tested}, and cannot be installed: ${each} ${range} is missing`;
  }
  return `${name} ${version} is newer than ${tested}`;
}

test('clients: package.json names exact versions', () => {
  expect(CLIENTS.length).toBeGreaterThan(5);
  for (const [name, version] of CLIENTS) {
    expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+$/)]);
    expect([name, read(`node_modules/${name}/package.json`).version]).toEqual([name, version]);
  }
});

// A release of another project must not fail the tests of this one, so the result is a note.
test('clients: newer versions in the registry are reported', async () => {
  const installed = Object.entries({ ...FLASH_LOAN_PACKAGES, ...BRIDGING_PACKAGES });
  for (const [name, tested] of [...CLIENTS, ...installed]) {
    const note = await describeNewer(name, tested);
    if (note !== undefined) process.stderr.write(`${note}\n`);
  }
}, 600_000);
