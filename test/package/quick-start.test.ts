import { afterAll, beforeAll, expect, test } from 'vitest';
import { readPage } from './docs-pages.ts';
import type { Host } from './host.ts';
import { unpackHost } from './host.ts';

const [, quickStart = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readPage('README.md').text) ?? [];

let host: Host;
beforeAll(() => {
  host = unpackHost();
});
afterAll(() => host[Symbol.dispose]());

test('README quick start runs as pasted in a folder that has only the package', () => {
  expect(quickStart).toContain('createOrderBook');
  const lines = host.run('book.mjs', quickStart).trim().split('\n');
  expect(lines).toHaveLength(2);
  expect(lines).toContain('presignaturePending');
  expect(lines).toContainEqual(expect.stringMatching(/^0x0{35}a11ce created 0x[0-9a-f]{112}$/));
});
