import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { NAVIGATION } from './navigation.ts';
import { useRepositoryLinks } from './repository-links.ts';

/** Pages of the API reference. Empty before `npm run docs:api`. */
const api = readApiPages(fileURLToPath(new URL('../api/', import.meta.url)));

function readApiPages(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.replace(/\.md$/, ''))
    .filter((name) => name !== 'index')
    .sort();
}

const base = process.env['DOCS_BASE'] ?? '/';

/** The documentation site: `npm run docs` serves it with hot reload, `npm run docs:build` writes static files. */
// biome-ignore lint/style/noDefaultExport: VitePress requires it.
export default defineConfig({
  title: 'intentbook',
  description: 'An embeddable order book engine for signed trade intents of CoW Protocol',
  lang: 'en',
  cleanUrls: true,
  head: [['link', { rel: 'icon', href: `${base}icon.svg`, type: 'image/svg+xml' }]],
  // A relative base is not possible, so a host that serves the site below a path sets it.
  base,
  // The pages of GitHub are named README.md.
  rewrites: { 'README.md': 'index.md' },
  srcExclude: ['.vitepress/**'],
  markdown: {
    config: useRepositoryLinks,
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  vite: { build: { chunkSizeWarningLimit: 2000 } },
  themeConfig: {
    search: {
      provider: 'local',
      // The browser evaluates the text of this function. Guides come before the API reference.
      options: { miniSearch: { searchOptions: { boostDocument: (id) => (id.includes('/api/') ? 0.1 : 1) } } },
    },
    outline: [2, 3],
    nav: [
      { text: 'Getting started', link: '/getting-started' },
      { text: 'Guides', link: '/guides/orders' },
      { text: 'Reference', link: '/reference/options' },
      ...(api.length > 0 ? [{ text: 'API', link: '/api/' }] : []),
    ],
    sidebar: {
      '/': NAVIGATION.map(({ title, pages }) => ({
        text: title,
        items: pages.map(([text, link]) => ({ text, link: `/${link}` })),
      })),
      '/api/': [{ text: 'API', items: api.map((name) => ({ text: name, link: `/api/${name}` })) }],
    },
    footer: { message: 'Released under the MIT License.' },
  },
});
