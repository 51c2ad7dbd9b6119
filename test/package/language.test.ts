import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openApiDocument } from 'intentbook/openapi';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../apps/cli/commands.ts';
import { helpText } from '../../apps/cli/help.ts';
import { PLAIN } from '../../apps/cli/style.ts';
import { HEADINGS } from './headings.ts';

/** The language rules that a machine can check. docs/internals/glossary.md has the terms, CONTRIBUTING.md the rules. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface Rule {
  readonly words: string;
  readonly reason: string;
  readonly use: string;
}

const SPEECH = 'code does not speak or listen';
const PERSONS = 'the subject of a sentence is a component';
const PRIVATE = 'not a term of the field';

const RULES: readonly Rule[] = [
  { words: 'nobody', reason: PERSONS, use: 'no client, no process, no caller' },
  { words: 'somebody|someone', reason: PERSONS, use: 'another client, another process' },
  { words: 'whoever|whomever', reason: PERSONS, use: 'the caller, the client, the process' },
  { words: 'tells?|told|telling', reason: SPEECH, use: 'emits, notifies, reports' },
  { words: 'says?|said|saying', reason: SPEECH, use: 'states, returns, reports' },
  { words: 'asks|asked|asking', reason: SPEECH, use: 'queries, calls, requests' },
  { words: 'hears?|heard|hearing', reason: SPEECH, use: 'receives' },
  { words: 'judges?|judged|judging|judgement', reason: PRIVATE, use: 'validates, checks, projects' },
  { words: 'merits?', reason: PRIVATE, use: 'net rate' },
  { words: 'fates?', reason: PRIVATE, use: 'outcome' },
  { words: 'tolls?', reason: PRIVATE, use: 'cost' },
  { words: 'seats?', reason: PRIVATE, use: 'subscription' },
  { words: 'misfits?', reason: PRIVATE, use: 'config error' },
  { words: 'upkeep', reason: PRIVATE, use: 'command, maintenance' },
  { words: 'patience|patiently', reason: PRIVATE, use: 'timeout' },
  { words: 'refusals?', reason: 'the glossary has one term', use: 'rejection' },
  { words: 'thought better|comes to|goes on|came of|comes of', reason: 'idiom', use: 'a plain verb' },
  { words: 'in the air|of its own|of his own|on purpose|as good as', reason: 'idiom', use: 'a plain adjective' },
];

/** Occurrences that are right in their place. */
const ALLOWED: readonly { readonly file: string; readonly text: string; readonly reason: string }[] = [];

function listFiles(folder: string, pattern: RegExp): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((file) => pattern.test(file) && !/(^|\/)(built|dist|node_modules|__snapshots__|\.[^/]+)\//.test(file));
}

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const CODE = ['src', 'adapters', 'apps', 'bench'].flatMap((folder) => listFiles(folder, /\.(ts|js|mjs|css|html|sol)$/));
const PAGES = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
  ...listFiles('docs', /\.md$/).filter((file) => !file.startsWith('docs/api/')),
];
const TESTS = listFiles('test', /\.ts$/);

/** Rules of descriptions in the OpenAPI document, whose subjects are components and values. */
const DESCRIPTION_RULES: readonly Rule[] = [
  { words: 'who|whom|whoever|what|whatever', reason: PERSONS, use: 'a noun phrase' },
  { words: 'today|nowadays', reason: 'a document has no date', use: 'a condition' },
  { words: 'speaks?|knows|believes?|looks?|brings?', reason: SPEECH, use: 'a standard verb' },
];
const QUESTION = /^(when|where|why|how)\b/i;

/** Returns the summaries and descriptions of an OpenAPI document, without examples. */
function readDescriptions(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    if ((key === 'description' || key === 'summary') && typeof member === 'string') return [member];
    return key === 'example' || key === 'examples' ? [] : readDescriptions(member);
  });
}

/** Finds words that must not occur, as "file:line: word (reason; use …)". */
function findWords(file: string, text: string, rules = RULES): string[] {
  const found: string[] = [];
  text.split('\n').forEach((line, i) => {
    for (const { words, reason, use } of rules) {
      for (const [word] of line.matchAll(new RegExp(`\\b(?:${words})\\b`, 'gi'))) {
        if (ALLOWED.some((each) => each.file === file && line.includes(each.text))) continue;
        found.push(`${file}:${i + 1}: "${word}": ${reason}; use ${use}`);
      }
    }
  });
  return found;
}

/** Extracts the titles of tests: the first argument of describe, it and test, and `name` members of case tables. */
function readTitles(file: string): string {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true);
  const titles: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && /^(describe|it|test)\b/.test(node.expression.getText())) {
      const [title] = node.arguments;
      if (title !== undefined && (ts.isStringLiteralLike(title) || ts.isTemplateExpression(title))) {
        titles.push(title.getText());
      }
    }
    if (ts.isPropertyAssignment(node) && node.name.getText() === 'name' && ts.isStringLiteralLike(node.initializer)) {
      titles.push(node.initializer.getText());
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return titles.join('\n');
}

describe('the words of the code and the documents', () => {
  it.each(CODE)('%s uses standard terms', (file) => expect(findWords(file, read(file))).toEqual([]));
  it.each(PAGES)('%s uses standard terms', (file) => expect(findWords(file, read(file))).toEqual([]));
  it.each(TESTS)('titles of %s use standard terms', (file) => expect(findWords(file, readTitles(file))).toEqual([]));
  it.each([undefined, ...COMMANDS.map(({ name }) => name)])('help of %s uses standard terms', (command) =>
    expect(findWords(`help ${command}`, helpText(command, PLAIN, true))).toEqual([]),
  );

  it.each(RULES.flatMap(({ words }) => words.split('|').map((word) => word.replaceAll('?', ''))))(
    'finds "%s"',
    (word) => expect(findWords('a.ts', `// It ${word} that.`)).toHaveLength(1),
  );

  it.each(ALLOWED)('the exception "$text" of $file still occurs', ({ file, text }) =>
    expect(read(file)).toContain(text),
  );
});

describe('the descriptions of the OpenAPI document', () => {
  const descriptions = [...new Set(readDescriptions(openApiDocument({ standalone: true })))];
  const all = [...RULES, ...DESCRIPTION_RULES];

  it('are found', () => expect(descriptions.length).toBeGreaterThan(200));
  it('use standard terms', () => expect(descriptions.flatMap((text) => findWords(text, text, all))).toEqual([]));
  it('are no questions', () => expect(descriptions.filter((text) => QUESTION.test(text))).toEqual([]));
  it('have sentences of at most 25 words', () => {
    const sentences = descriptions.flatMap((text) => text.split(/[.;:] |\n/));
    expect(sentences.filter((sentence) => sentence.split(' ').length > 25)).toEqual([]);
  });
});

describe('the form of the code', () => {
  const FILES = [...CODE, ...TESTS].filter((file) => file.endsWith('.ts'));

  it.each(FILES)('%s spreads no literal', (file) => {
    const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true);
    const literals: string[] = [];
    const visit = (node: ts.Node): void => {
      if (
        (ts.isSpreadAssignment(node) && ts.isObjectLiteralExpression(node.expression)) ||
        (ts.isSpreadElement(node) && ts.isArrayLiteralExpression(node.expression))
      ) {
        literals.push(node.getText().slice(0, 60));
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
    expect(literals).toEqual([]);
  });

  const MODULES = ['test', 'scripts'].flatMap((folder) => listFiles(folder, /\.mjs$/));

  it.each([...FILES, ...MODULES])('%s has no comment line over 120 columns', (file) => {
    const long = read(file)
      .split('\n')
      .filter((line) => line.length > 120 && /^\s*(\/\/|\*|\/\*\*)|\s\/\/ /.test(line));
    expect(long).toEqual([]);
  });
});

describe('messages of errors', () => {
  const PATTERN = /new (\w*Error)\(\s*(?:'\w+',\s*)?(?:'([^'\n]+ [^'\n]*)'|`([^`]+)`)/g;

  it('start in lower case or with a name, and have no full stop', () => {
    const messages = CODE.filter((file) => file.endsWith('.ts')).flatMap((file) =>
      [...read(file).matchAll(PATTERN)].map(([, name, plain, template]) => [name, plain ?? template ?? ''] as const),
    );
    expect(messages.length).toBeGreaterThan(300);
    // The texts of the account interface are those of production, or begin as they do.
    const texts = messages.flatMap(([name, text]) => (name === 'AccountError' ? [] : text));
    expect(texts.filter((text) => /^(?!Tenderly )[A-Z][a-z]+ |\.$/.test(text))).toEqual([]);
  });
});

describe('headings', () => {
  it.each(PAGES.filter((file) => file !== 'CHANGELOG.md'))('of %s are known', (file) => {
    const text = read(file).replace(/^```.*?^```/gms, '');
    const headings = [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => heading.trim());
    expect(headings.filter((heading) => !HEADINGS.has(heading))).toEqual([]);
  });
});
