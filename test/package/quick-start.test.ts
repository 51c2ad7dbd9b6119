import { afterAll, beforeAll, expect, test } from 'vitest';
import { readPage } from './docs-pages.ts';
import type { Host } from './host.ts';
import { unpackHost } from './host.ts';

const [, quickStart = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readPage('README.md').text) ?? [];

let host: Host;
beforeAll(() => {
  host = unpackHost(['viem']);
});
afterAll(() => host[Symbol.dispose]());

test('README quick start runs as pasted in a folder with the packages that the README installs', () => {
  expect(quickStart).toContain('createOrderBook');
  expect(readPage('README.md').text).toContain('npm install intentbook viem\n');
  const lines = host.run('book.mjs', quickStart).trim().split('\n');
  expect(lines).toHaveLength(2);
  expect(lines).toContain('open');
  expect(lines).toContainEqual(expect.stringMatching(/^(0x[0-9a-f]{40}) created 0x[0-9a-f]{112}$/));
});
