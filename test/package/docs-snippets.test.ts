import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format } from 'node:util';
import ts from 'typescript';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { readPages, root } from './docs-pages.ts';

/** A TypeScript block of a page. */
interface Snippet {
  readonly path: string;
  readonly heading: string;
  /** Its file name: given after `ts` in the page, or numbered. */
  readonly file: string;
  /** Whether it only has to compile: marked with `check`, or a file that other snippets import. */
  readonly isCheckedOnly: boolean;
  readonly code: string;
}

const snippets = readPages().flatMap(({ path, text }) => {
  let heading = '';
  const found: Snippet[] = [];
  for (const [, title, mark = '', code = ''] of text.matchAll(/^#+ (.+)$|^```ts(?: ([\w.-]+))?\n([\s\S]*?)^```$/gm)) {
    if (title !== undefined) heading = title;
    else {
      const isFile = mark.endsWith('.ts');
      const file = isFile ? mark : `${path.replace(/\W+/g, '-')}-${found.length}.ts`;
      found.push({ path, heading, file, isCheckedOnly: isFile || mark === 'check', code });
    }
  }
  return found;
});

// The folder is beside this file, so that snippets resolve `intentbook` to the sources.
const folder = mkdtempSync(fileURLToPath(new URL('./.readme-', import.meta.url)));
for (const { file, code } of snippets) writeFileSync(join(folder, file), code);
const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

test('pages contain snippets', () => {
  expect(snippets.filter(({ isCheckedOnly }) => !isCheckedOnly).length).toBeGreaterThan(25);
});

test('every snippet compiles', () => {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const declarations = fileNames.filter((file) => file.endsWith('.d.ts'));
  const files = [...readdirSync(folder).map((file) => join(folder, file)), ...declarations];
  const program = ts.createProgram(files, options);
  const found = ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line + 1;
    return `${file?.fileName.slice(folder.length + 1)}:${line} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
  expect(found).toEqual([]);
});

/** Returns the output that a snippet promises: the comments behind `console.log`. */
function promisedOutput(code: string): string[] {
  return [...code.matchAll(/console\.log\(.*\); \/\/ (.+)$/gm)].map(([, output = '']) => output);
}

test('Getting started: the program that posts an order reaches the server that the page shows', async () => {
  const page = snippets.filter(({ path }) => path === 'docs/getting-started.md');
  const server = page.find(({ code }) => code.includes('listen(8080'));
  const client = page.find(({ file }) => file === 'post-order.ts');
  const lines: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((...line) => void lines.push(format(...line)));
  const { listen } = Server.prototype;
  const listening = new Promise<Server>((resolve) => {
    vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server, ...args: unknown[]) {
      servers.push(this.once('listening', () => resolve(this)));
      return Reflect.apply(listen, this, args);
    });
  });
  const run = async (name: string, code = '') => {
    writeFileSync(join(folder, name), code);
    await import(/* @vite-ignore */ join(folder, name));
  };
  try {
    await run('posted-server.ts', server?.code.replace('listen(8080', 'listen(0'));
    const { port } = (await listening).address() as AddressInfo; // it listens on a port
    await run('posted-client.ts', client?.code.replace(':8080', `:${port}`));
  } finally {
    vi.restoreAllMocks();
  }
  expect(lines.at(-1)).toMatch(/^201 0x[0-9a-f]{112}$/);
});

describe('snippet', () => {
  const executed = snippets.filter(({ isCheckedOnly }) => !isCheckedOnly);
  test.each(executed)('$path, "$heading": $file runs and prints what it promises', async ({ file, code }) => {
    // Only the port and the folder of databases differ from the page.
    const changed = code
      .replace(/'([\w-]+\.sqlite)'/g, (_, name: string) => JSON.stringify(join(folder, `${file}-${name}`)))
      .replace(/listen\(8080/g, 'listen(0')
      .replace(/port: 8080/g, 'port: 0');
    const run = join(folder, `run-${file}`);
    writeFileSync(run, changed);
    const lines: string[] = [];
    vi.spyOn(console, 'log').mockImplementation((...line) => void lines.push(format(...line)));
    const listen = Server.prototype.listen;
    vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server, ...args: unknown[]) {
      servers.push(this);
      return Reflect.apply(listen, this, args);
    });
    try {
      await import(/* @vite-ignore */ run);
    } finally {
      vi.restoreAllMocks();
    }
    const promised = promisedOutput(code);
    expect(lines).toEqual(expect.arrayContaining(promised));
    const rejections = lines.filter((line) => /^(?:rejected: |[A-Z][A-Za-z]+ )/.test(line) && !promised.includes(line));
    expect(rejections).toEqual([]);
  });
});
