import { posix } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';

const REPOSITORY = 'https://github.com/intentbook/intentbook/blob/main';

/** Lets links to files outside the folder of the documentation lead to the repository. */
export function useRepositoryLinks(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push('repository-links', (state) => {
    const page = (state.env as { readonly relativePath?: string }).relativePath ?? ''; // VitePress sets it
    for (const block of state.tokens) {
      for (const token of block.children ?? []) {
        const href = token.type === 'link_open' ? token.attrGet('href') : null;
        if (href === null || /^(?:[a-z]+:|#|\/)/.test(href)) continue;
        const target = posix.join(posix.dirname(page), href);
        if (target.startsWith('../')) token.attrSet('href', `${REPOSITORY}/${target.slice(3)}`);
      }
    }
  });
}
