import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPage } from './docs-pages.ts';
import type { Host } from './host.ts';
import { unpackHost } from './host.ts';

/** The runtimes and packages that are no development dependencies are installed in the long run. */
const LONG = process.env['TEST_LONG'] !== undefined;

/** The recipes of the section "Shutdown", by the name of their host. */
const [, section = ''] = readPage('docs/guides/frameworks.md').text.split('\n## Shutdown\n');
const recipes = new Map(
  [...section.matchAll(/^```(?:ts|js) ([\w-]+)\n([\s\S]*?)^```$/gm)].map(([, name = '', code = '']) => [name, code]),
);

let host: Host;
let installed = '';
beforeAll(() => {
  host = unpackHost(['express', 'fastify']);
  if (!LONG) return;
  installed = join(host.folder, 'runtimes');
  mkdirSync(installed);
  writeFileSync(join(installed, 'package.json'), '{ "private": true }');
  const packages = ['bun@1', 'deno@2', 'hono@4', '@hono/node-server@1'];
  execFileSync('npm', ['install', ...packages, '--no-audit', '--no-fund', '--loglevel=error'], { cwd: installed });
  for (const name of ['hono', '@hono']) {
    symlinkSync(join(installed, 'node_modules', name), join(host.folder, 'node_modules', name));
  }
}, 300_000);
afterAll(() => host[Symbol.dispose]());

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  return address.port;
}

/** Starts a recipe, opens a stream, and sends SIGTERM. @returns How the stream and the process ended. */
async function stopWithOpenStream(name: string, command: readonly string[]) {
  const port = await freePort();
  const code = (recipes.get(name) ?? '').replaceAll('8080', String(port));
  const { module, target } = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  const file = join(host.folder, `shutdown-${name}.mjs`);
  writeFileSync(file, ts.transpileModule(code, { compilerOptions: { module, target } }).outputText);
  const [program = '', ...args] = command;
  const child = spawn(program, [...args, file], { cwd: host.folder, env: { ...process.env, NODE_OPTIONS: '' } });
  let printed = '';
  const print = (text: Buffer) => {
    printed += text;
  };
  for (const output of [child.stdout, child.stderr]) output.on('data', print);
  const exited = once(child, 'exit');
  const url = `http://127.0.0.1:${port}/api/v1`;
  while (
    !(await fetch(`${url}/version`).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`the process has ended: ${printed}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const response = await fetch(`${url}/orders/stream`);
  const reader = response.body?.getReader();
  const first = await reader?.read();
  child.kill('SIGTERM');
  // An incomplete response rejects the read.
  for (let next = first; next?.done === false; ) next = await reader?.read();
  const [exitCode, signal] = await exited;
  return { status: response.status, opened: first?.done, exitCode, signal, printed };
}

const DENO = ['--allow-all', '--node-modules-dir=manual', '--unstable-no-legacy-abort'];

const CLEAN = { status: 200, opened: false, exitCode: 0, signal: null, printed: '' };

describe('shutdown recipe with an open stream', () => {
  it.each(['node-http', 'express', 'fastify'])(
    '%s: ends the stream and the process, and prints nothing',
    async (name) => {
      expect(await stopWithOpenStream(name, [process.execPath])).toEqual(CLEAN);
    },
  );

  it.skipIf(!LONG).each([
    ['hono', () => [process.execPath]],
    ['bun', () => [join(installed, 'node_modules/.bin/bun')]],
    ['deno', () => [join(installed, 'node_modules/.bin/deno'), 'run', ...DENO]],
  ])('%s: ends the stream and the process, and prints nothing (long run only)', async (name, command) => {
    expect(await stopWithOpenStream(name, command())).toEqual(CLEAN);
  });

  it('next: is that of the example, whose test ends a stream with SIGTERM', () => {
    const page = readPage('docs/guides/frameworks.md').text;
    const files = ['book.js', 'app/sepolia/[...path]/route.js', 'instrumentation.js'];
    for (const name of files) {
      const [, code] = page.split(`\n\`\`\`js ${name}\n`);
      expect(code?.split('```')[0]).toBe(readPage(`examples/nextjs/${name}`).text);
    }
    expect(readPage('examples/nextjs/app.test.js').text).toContain("server.kill('SIGTERM')");
  });

  it('exists for every host', () => {
    expect([...recipes.keys()]).toEqual(['node-http', 'express', 'fastify', 'hono', 'bun', 'deno']);
  });
});
