import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codeIn, type Page, readPages, root } from './docs-pages.ts';

const pages = readPages();
const withoutCode = (text: string) => text.replace(/^```[\s\S]*?^```$/gm, '');

/** Returns the anchors of a page: those of its headings, as GitHub makes them, and explicit ones. */
function anchorsOf(text: string): Set<string> {
  const headings = [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/ /g, '-'),
  );
  const explicit = [...text.matchAll(/<a id="([^"]+)"><\/a>/g)].map(([, id = '']) => id);
  return new Set([...headings, ...explicit]);
}

interface Link {
  readonly from: string;
  /** Path from the root of the repository. */
  readonly path: string;
  readonly anchor: string | undefined;
}

/** Returns the links of a page to files of the repository. */
function linksOf({ path: from, text }: Page): Link[] {
  const targets = [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [file = '', anchor] = target.split('#');
      return { from, path: file === '' ? from : normalize(join(dirname(from), file)), anchor };
    });
}

const links = pages.flatMap(linksOf);

describe('documentation links', () => {
  test('lead to files that exist', () => {
    expect(links.length).toBeGreaterThan(100);
    expect(links.filter(({ path }) => !existsSync(join(root, path)))).toEqual([]);
  });

  test('lead to anchors that exist', () => {
    const anchored = links.filter(({ anchor, path }) => anchor !== undefined && path.endsWith('.md'));
    const broken = anchored.filter(({ anchor, path }) => {
      const page = pages.find((each) => each.path === path);
      return page === undefined || !anchorsOf(page.text).has(anchor ?? '');
    });
    expect(anchored.length).toBeGreaterThan(10);
    expect(broken).toEqual([]);
  });

  test('reach every page of docs from the README', () => {
    const reached = new Set(['README.md']);
    for (const path of reached) {
      for (const link of links) if (link.from === path && link.path.endsWith('.md')) reached.add(link.path);
    }
    const inDocs = pages.map(({ path }) => path).filter((path) => path.startsWith('docs/'));
    expect(inDocs.filter((path) => !reached.has(path))).toEqual([]);
  });
});

test('documentation names source files that exist', () => {
  const missing = pages.flatMap(({ path, text }) =>
    codeIn(withoutCode(text))
      .filter((code) => /^(?:src|adapters|apps|test|bench)\/[\w./-]+$/.test(code) && !existsSync(join(root, code)))
      .map((code) => `${path}: ${code}`),
  );
  expect(missing).toEqual([]);
});

test('comments in the code link to documents and anchors that exist', () => {
  const files = ['src', 'adapters', 'apps', 'bench', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(root, folder, name)),
  );
  const sources = files.filter((file) => /\.(?:m?ts|mjs|js)$/.test(file) && statSync(file).isFile());
  expect(sources.length).toBeGreaterThan(300);
  const broken = sources.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\b(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g)]
      .filter(([, path = '', anchor]) => {
        const page = pages.find((each) => each.path === path);
        return page === undefined || (anchor !== undefined && !anchorsOf(page.text).has(anchor));
      })
      .map(([link]) => `${file.slice(root.length)}: ${link}`),
  );
  expect(broken).toEqual([]);
});
