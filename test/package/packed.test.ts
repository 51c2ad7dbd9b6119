import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Host } from './host.ts';
import { ENTRIES, manifest, unpackHost } from './host.ts';

let host: Host;
beforeAll(() => {
  host = unpackHost();
});
afterAll(() => host[Symbol.dispose]());

describe('packed package in a host without optional peers', () => {
  test.each(ENTRIES)('%s can be imported and required as one module', (entry) => {
    const specifier = JSON.stringify(entry);
    const code = `const a = require(${specifier}); import(${specifier}).then((b) => {
      const names = Object.keys(b);
      if (names.some((key) => a[key] !== b[key])) throw new Error('two copies');
      console.log(names.filter((key) => key !== 'module.exports').sort().join(' '));
    });`;
    expect(host.run('entry.cjs', code)).toMatchSnapshot();
  });

  test('has declarations that import packages of the host only', () => {
    const folder = join(host.folder, 'node_modules/intentbook/dist');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.d.ts'));
    const imported = files.flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(/(?:\bfrom|\bimport\() ?['"]([^.#'"][^'"]*)['"]/g)].flatMap(
        ([, name = '']) => (isBuiltin(name) ? [] : [/^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0]]),
      ),
    );
    const allowed = ['intentbook', ...Object.keys(manifest.dependencies)];
    expect(imported.length).toBeGreaterThan(50);
    expect([...new Set(imported)].filter((name = '') => !allowed.includes(name))).toEqual([]);
  });

  test('shares error classes between entries', () => {
    const code = `import { OrderBookError, StoreError, createOrderBook } from 'intentbook';
      import { memoryStore } from 'intentbook/memory';
      const book = createOrderBook({ chainId: 1, store: memoryStore() });
      const failure = await book.orders.get('0x' + '00'.repeat(56)).catch((error) => error);
      const rejected = await book.orders.get('0x').catch((error) => error);
      console.log(failure instanceof StoreError, rejected instanceof OrderBookError);`;
    expect(host.run('errors.mjs', code)).toBe('true true\n');
  });

  test('serves by its command and names the package that a page requires', async () => {
    const cli = join(host.folder, 'node_modules/intentbook/dist/cli.js');
    const server = spawn(process.execPath, [cli, 'serve', '--port', '0', '--db', ':memory:'], { cwd: host.folder });
    try {
      let output = '';
      const url = await new Promise<string>((resolve, reject) => {
        const listen = (chunk: Buffer) => {
          output += chunk;
          const found = /address +(http:\S+)/.exec(output)?.[1];
          if (found !== undefined) resolve(found);
        };
        server.stdout.on('data', listen);
        server.stderr.on('data', listen);
        server.once('exit', () => reject(new Error(output)));
      });
      expect((await fetch(`${url}/ready`)).status).toBe(200);
      expect(output).not.toContain('/docs');
      expect((await fetch(`${url}/openapi.json`)).status).toBe(200);
      // The page is not installed, so the error does not refer to it.
      expect(await (await fetch(url)).json()).not.toHaveProperty('docs');
      // The explorer links the document that exists.
      expect(await (await fetch(`${url}/explorer/data/site`)).json()).toMatchObject({ docs: 'openapi' });
      const missing = await fetch(`${url}/docs/swagger-ui.css`);
      expect([missing.status, await missing.text()]).toEqual([404, expect.stringContaining('swagger-ui-dist')]);
      expect(await (await fetch(`${url}/docs`)).text()).toContain('npm install swagger-ui-dist');
    } finally {
      server.kill();
    }
  });

  test('names the sandbox that needs no package', () => {
    const code = `import { createSandbox } from 'intentbook/sandbox';
      await createSandbox().catch((error) => console.log(error.name, error.message));`;
    const names = '@foundry-rs/anvil, @cowprotocol/contracts, @uniswap/v2-core, @uniswap/v2-periphery';
    const output = host.run('sandbox.mjs', code);
    expect(output).toContain(`MissingPackage the sandbox needs ${names}: npm install --save-dev `);
    expect(output).toContain('the simulated chain (--simulated) needs no package');
  });

  test('does not keep a host alive that forgets to close its book', () => {
    const code = `import { createOrderBook } from 'intentbook';
      import { memoryStore } from 'intentbook/memory';
      const book = createOrderBook({ chainId: 1, store: memoryStore() });
      await book.start();
      console.log((await book.ready()).ready);`;
    expect(host.run('open.mjs', code)).toBe('true\n');
  });

  test('names the entry that requires a missing peer', () => {
    // Not of SQLite, which Node.js 22.13 and later have.
    const code = `import { createOrderBook } from 'intentbook';
      import { postgresStore } from 'intentbook/postgres';
      const store = postgresStore({ url: 'postgres://127.0.0.1:1/x' });
      await createOrderBook({ chainId: 1, store }).start().catch((error) => console.log(error.code, error.message));`;
    expect(host.run('peer.mjs', code)).toMatch(/^[A-Z]\w+ .*the package pg\b/);
  });
});

test('is built with its declarations before it is packed, because the demo builds without them', () => {
  const { scripts } = manifest;
  expect(scripts['demo']).toContain('--no-dts');
  expect(scripts['prepack']).toMatch(/^npm run (?:--silent )?build\b(?!.*--no-dts)/);
});

test('version in the source matches the package', async () => {
  const { VERSION } = await import('../../src/version.ts');
  expect(VERSION).toBe(manifest.version);
});
