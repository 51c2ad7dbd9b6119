import { readFileSync, writeFileSync } from 'node:fs';
import { openApiDocument } from 'intentbook/openapi';
import { expect, test } from 'vitest';
import { FLAG_NAMES } from '../../adapters/server/cli/flags.ts';
import { settingsSchema } from '../../adapters/server/config/schema.ts';

/** As much of a JSON schema as its table shows. */
interface Setting {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Setting>>;
  readonly items?: Setting;
  readonly default?: unknown;
  readonly type?: string;
}

/**
 * Holds the rows of a document's part between its markers against those of the code: what stands there must be there.
 * INTENTBOOK_WRITE=1 writes them all.
 */
function holds(file: string, name: string, rows: readonly string[]): void {
  const url = new URL(`../../docs/${file}`, import.meta.url);
  const text = readFileSync(url, 'utf8');
  const block = new RegExp(`(<!-- ${name}:begin -->\n)([\\s\\S]*?)(<!-- ${name}:end -->)`);
  const [, , table = ''] = block.exec(text) ?? [];
  if (process.env['INTENTBOOK_WRITE'] === '1') {
    const wanted = text.replace(block, (_, begin: string, __, end: string) => `${begin}\n${rows.join('\n')}\n\n${end}`);
    writeFileSync(url, wanted);
    return;
  }
  const keyOf = (row: string) => row.split('|')[1]?.trim();
  const known = rows.map(keyOf);
  const said = table.split('\n').filter((line) => line.startsWith('|'));
  expect(said.length).toBeGreaterThan(20);
  expect(said.map(keyOf).filter((key) => !known.includes(key))).toEqual([]);
}

const flagOf = (key: string) => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

test('the settings of the server are documented from the schema that reads them', () => {
  const { properties = {} } = settingsSchema() as Setting;
  const book = properties['books']?.items?.properties ?? {};
  const common = properties['defaults']?.properties ?? {};
  const row =
    (where: string) =>
    ([key, { description = '', default: initial }]: [string, Setting]) => {
      const flag = FLAG_NAMES.some((name) => `--${name}` === flagOf(key)) ? `\`${flagOf(key)}\`` : '';
      const unless =
        initial === undefined || typeof initial === 'object' ? '' : ` Default \`${JSON.stringify(initial)}\`.`;
      return `| \`${key}\` | ${where} | ${flag} | ${description}${unless} |`;
    };
  const top = Object.entries(properties).filter(([key]) => !['$schema', 'books', 'defaults'].includes(key));
  const rows = [
    ...top.map(row('the top')),
    ...Object.entries(book).map(([key, setting]) =>
      row(key in common ? 'a book, `defaults`' : 'a book')([key, setting]),
    ),
  ];
  holds('server.md', 'settings', ['| key | of | flag | what it decides |', '|---|---|---|---|', ...rows]);
});

test('the routes that are served are documented from the OpenAPI document', () => {
  const rows = Object.entries(openApiDocument({ standalone: true }).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const { summary = '' } = operation as { summary?: string }; // its form
      return `| \`${method.toUpperCase()} ${path}\` | ${summary} |`;
    }),
  );
  holds('compatibility.md', 'routes', ['| route | |', '|---|---|', ...rows]);
});
