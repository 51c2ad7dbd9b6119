import { readFileSync, writeFileSync } from 'node:fs';
import { openApiDocument } from 'intentbook/openapi';
import { expect, test } from 'vitest';
import { FLAG_NAMES } from '../../adapters/server/flags.ts';
import { settingsSchema } from '../../adapters/server/settings.ts';

/** As much of a JSON schema as its table shows. */
interface Setting {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Setting>>;
  readonly items?: Setting;
  readonly default?: unknown;
  readonly type?: string;
}

/** Holds a part of a document between its markers against what it must be. INTENTBOOK_WRITE=1 writes it. */
function holds(file: string, name: string, table: string): void {
  const url = new URL(`../../docs/${file}`, import.meta.url);
  const text = readFileSync(url, 'utf8');
  const block = new RegExp(`(<!-- ${name}:begin -->\n)[\\s\\S]*?(<!-- ${name}:end -->)`);
  expect(text).toMatch(block);
  const wanted = text.replace(block, (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`);
  if (process.env['INTENTBOOK_WRITE'] === '1') writeFileSync(url, wanted);
  else
    expect(
      text,
      `docs/${file} is behind the code: INTENTBOOK_WRITE=1 npx vitest run --config test/vitest.config.ts test/package/readme-tables`,
    ).toBe(wanted);
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
  holds('server.md', 'settings', ['| key | of | flag | what it decides |', '|---|---|---|---|', ...rows].join('\n'));
});

test('the routes that are served are documented from the OpenAPI document, each with a summary', () => {
  const rows = Object.entries(openApiDocument({ standalone: true }).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const { summary = '' } = operation as { summary?: string }; // its form
      expect(summary, `${method} ${path} has no entry in operations.ts`).not.toBe('');
      return `| \`${method.toUpperCase()} ${path}\` | ${summary} |`;
    }),
  );
  holds('compatibility.md', 'routes', ['| route | |', '|---|---|', ...rows].join('\n'));
});
