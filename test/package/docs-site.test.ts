import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { NAVIGATION } from '../../docs/.vitepress/navigation.ts';
import { readPages, root } from './docs-pages.ts';
import { renderLlms } from './llms.ts';

it('documentation site: the navigation lists every page once', () => {
  const listed = NAVIGATION.flatMap(({ pages }) => pages.map(([, path]) => `docs/${path}.md`));
  const pages = readPages().map(({ path }) => path);
  const inDocs = pages.filter((path) => path.startsWith('docs/') && path !== 'docs/README.md');
  expect(listed.sort()).toEqual(inDocs.sort());
});

it('llms.txt lists every page; INTENTBOOK_WRITE=1 writes it', () => {
  const file = join(root, 'docs/public/llms.txt');
  if (process.env['INTENTBOOK_WRITE'] !== undefined) writeFileSync(file, renderLlms());
  expect(existsSync(file) && readFileSync(file, 'utf8')).toBe(renderLlms());
});
