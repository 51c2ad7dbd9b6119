import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { account, signOrder } from '../support/orders.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const snippets = [...readme.matchAll(/^## (.+)$|^```ts\n([\s\S]*?)^```$/gm)].reduce(
  ({ heading, found }, [, title, code]) =>
    title === undefined ? { heading, found: [...found, { heading, code: code ?? '' }] } : { heading: title, found },
  { heading: '', found: [] as { heading: string; code: string }[] },
).found;

// Beside this file, so that a snippet resolves `intentbook` to the sources as every test does.
const folder = mkdtempSync(fileURLToPath(new URL('./.readme-', import.meta.url)));
const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

describe('a snippet of the README runs as it stands', () => {
  test.each(snippets.map((snippet, i) => ({ ...snippet, i })))('$heading, snippet $i', async ({ code, i }) => {
    const file = `${folder}/snippet-${i}.ts`;
    // Only the file and the port differ from what a reader would run; the signed order is one that was just signed.
    writeFileSync(
      file,
      code.replace("'intentbook.sqlite'", JSON.stringify(`${folder}/${i}.sqlite`)).replace('listen(8080', 'listen(0'),
    );
    vi.stubGlobal('signedOrder', await signOrder(account(7), { validTo: Math.floor(Date.now() / 1000) + 600 }));
    const lines: unknown[][] = [];
    vi.spyOn(console, 'log').mockImplementation((...line) => void lines.push(line));
    const listen = Server.prototype.listen;
    vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server, ...args: unknown[]) {
      servers.push(this);
      return Reflect.apply(listen, this, args);
    });
    await import(/* @vite-ignore */ file);
    vi.restoreAllMocks();
    for (const line of lines) expect(String(line[0])).not.toMatch(/^[A-Z][A-Za-z]+$/); // no rejection was printed
  });

  test('there are snippets to run', () => expect(snippets.length).toBeGreaterThan(2));
});
