import { NAVIGATION } from '../../docs/.vitepress/navigation.ts';
import { readPage } from './docs-pages.ts';

/** Renders llms.txt: a list of the pages for language models (https://llmstxt.org). */
export function renderLlms(): string {
  const [, summary = ''] = /^# .+\n\n([\s\S]*?)\n\n/.exec(readPage('README.md').text) ?? [];
  const sections = NAVIGATION.map(({ title, pages }) => {
    const links = pages.map(([name, path]) => `- [${name}](/${path}): ${firstSentence(path)}`);
    return `## ${title}\n\n${links.join('\n')}\n`;
  });
  return `# intentbook\n\n> ${plain(summary)}\n\n${sections.join('\n')}`;
}

function firstSentence(path: string): string {
  const { text } = readPage(`docs/${path}.md`);
  const paragraph = text.split('\n\n').find((each) => /^[A-Z`*[]/.test(each)) ?? '';
  return plain(/^[\s\S]*?\.(?=\s|$)/.exec(paragraph)?.[0] ?? paragraph);
}

/** Removes links and line breaks. */
const plain = (text: string) => text.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1').replace(/\s+/g, ' ');
