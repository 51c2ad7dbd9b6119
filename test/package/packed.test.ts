import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string;
  exports: Record<string, unknown>;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
};
const entries = Object.keys(manifest.exports).filter((entry) => !entry.endsWith('.json'));
const host = mkdtempSync(join(tmpdir(), 'intentbook-host-'));
afterAll(() => rmSync(host, { recursive: true }));

/** Unpacks what would be published into a host of its own, beside the dependencies that it names and nothing else. */
beforeAll(() => {
  const packed = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', host], { cwd: root });
  const report: unknown = JSON.parse(packed.toString());
  const [first] = Array.isArray(report) ? report : Object.values(report as object); // npm 11 and 12 differ
  const target = join(host, 'node_modules', 'intentbook');
  mkdirSync(target, { recursive: true });
  execFileSync('tar', ['-xzf', join(host, first.filename), '-C', target, '--strip-components=1']);
  for (const name of Object.keys(manifest.dependencies)) {
    const link = join(host, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), link);
  }
  writeFileSync(join(host, 'package.json'), '{ "type": "commonjs" }');
});

function run(file: string, code: string): string {
  writeFileSync(join(host, file), code);
  return execFileSync(process.execPath, [file], { cwd: host, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

const name = (entry: string) => `intentbook${entry.slice(1)}`;

describe('the packed package, in a host that has none of the optional peers', () => {
  test.each(entries)('%s is imported and required, and both are one module', (entry) => {
    const specifier = JSON.stringify(name(entry));
    const code = `const a = require(${specifier}); import(${specifier}).then((b) => {
      const names = Object.keys(b);
      if (names.some((key) => a[key] !== b[key])) throw new Error('two copies');
      console.log(names.filter((key) => key !== 'module.exports').sort().join(' '));
    });`;
    expect(run('entry.cjs', code)).toMatchSnapshot();
  });

  test('an error of one entry is an instance of the class of another', () => {
    const code = `import { OrderBookError, StoreError, createOrderBook } from 'intentbook';
      import { memoryStore } from 'intentbook/memory';
      const book = createOrderBook({ chainId: 1, store: memoryStore() });
      const fault = await book.orders.get('0x' + '00'.repeat(56)).catch((error) => error);
      const refused = await book.orders.get('0x').catch((error) => error);
      console.log(fault instanceof StoreError, refused instanceof OrderBookError);`;
    expect(run('errors.mjs', code)).toBe('true true\n');
  });

  test('its command serves, and names the package that a page of it needs', async () => {
    const cli = join(host, 'node_modules/intentbook/dist/cli.js');
    const server = spawn(process.execPath, [cli, 'serve', '--port', '0', '--db', ':memory:'], { cwd: host });
    try {
      const url = await new Promise<string>((resolve, reject) => {
        let said = '';
        const listen = (chunk: Buffer) => {
          said += chunk;
          const found = /address +(http:\S+)/.exec(said)?.[1];
          if (found !== undefined) resolve(found);
        };
        server.stdout.on('data', listen);
        server.stderr.on('data', listen);
        server.once('exit', () => reject(new Error(said)));
      });
      expect((await fetch(`${url}/ready`)).status).toBe(200);
      expect((await fetch(`${url}/openapi.json`)).status).toBe(200);
      const missing = await fetch(`${url}/docs/swagger-ui.css`);
      expect([missing.status, await missing.text()]).toEqual([404, expect.stringContaining('swagger-ui-dist')]);
    } finally {
      server.kill();
    }
  });

  test('a host that forgets to close its book still exits', () => {
    const code = `import { createOrderBook } from 'intentbook';
      import { memoryStore } from 'intentbook/memory';
      const book = createOrderBook({ chainId: 1, store: memoryStore() });
      await book.start();
      console.log((await book.ready()).ready);`;
    expect(run('open.mjs', code)).toBe('true\n');
  });

  test('a missing peer is named by who needs it', () => {
    const code = `import { createOrderBook } from 'intentbook';
      import { sqliteStore } from 'intentbook/sqlite';
      const book = createOrderBook({ chainId: 1, store: sqliteStore({ path: 'x.sqlite' }) });
      await book.start().catch((error) => console.log(error.code, error.message));`;
    expect(run('peer.mjs', code)).toMatch(/^[A-Z]\w+ .*better-sqlite3/);
  });
});

test('the version in the source is the version of the package', async () => {
  const { VERSION } = await import('../../src/version.ts');
  expect(VERSION).toBe(manifest.version);
});
