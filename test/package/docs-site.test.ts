import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { NAVIGATION } from '../../docs/.vitepress/navigation.ts';
import { readPage, readPages, root } from './docs-pages.ts';
import { renderLlms } from './llms.ts';

it('documentation site: the navigation lists every page once', () => {
  const listed = NAVIGATION.flatMap(({ pages }) => pages.map(([, path]) => `docs/${path}.md`));
  const pages = readPages().map(({ path }) => path);
  const inDocs = pages.filter((path) => path.startsWith('docs/') && path !== 'docs/README.md');
  expect(listed.sort()).toEqual(inDocs.sort());
});

it('documentation site: the home page begins with what it is, the installation, a program and a picture', () => {
  const [start = ''] = readPage('docs/README.md').text.split('\n## ');
  const positions = [/\bis an order book\b/, /^npm install intentbook/m, /^```ts$/m, /^!\[[^\]]{20,}\]\(images\//m].map(
    (part) => start.search(part),
  );
  expect(positions).toEqual([...positions].sort((a, b) => a - b));
  expect(positions).not.toContain(-1);
});

it('documentation site: the table of entry points lists each entry of the package once', () => {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: object };
  const entries = Object.keys(exports).filter((name) => name !== './package.json');
  const listed = [...readPage('docs/README.md').text.matchAll(/^\| `(intentbook[\w/-]*)` \| \w/gm)];
  expect(listed.map(([, name]) => name).sort()).toEqual(entries.map((entry) => `intentbook${entry.slice(1)}`).sort());
});

/** Tags that pages use as markup. */
const MARKUP = /<\/?(?:a|br|details|summary|kbd|sub|sup)\b[^>]*>/g;

it('documentation site: pages contain no text that the build reads as an element', () => {
  const found = readPages()
    .filter(({ path }) => path.startsWith('docs/'))
    .flatMap(({ path, text }) => {
      const prose = text.replace(/^(```+)[\s\S]*?^\1$/gm, '').replace(/<!--[\s\S]*?-->/g, '');
      const plain = prose.replace(/(`+)[^`][\s\S]*?\1/g, '').replace(MARKUP, '');
      return [...plain.matchAll(/<\/?[a-z][^\n]{0,30}/gi)].map(([tag]) => `${path}: ${tag}`);
    });
  expect(found).toEqual([]);
});

it('llms.txt lists every page; INTENTBOOK_WRITE=1 writes it', () => {
  const file = join(root, 'docs/public/llms.txt');
  if (process.env['INTENTBOOK_WRITE'] !== undefined) writeFileSync(file, renderLlms());
  expect(existsSync(file) && readFileSync(file, 'utf8')).toBe(renderLlms());
});
