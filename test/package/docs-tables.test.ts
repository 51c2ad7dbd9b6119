import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERRORS, NOTIFICATION_TYPES } from 'intentbook';
import { openApiDocument } from 'intentbook/openapi';
import { describe, expect, test } from 'vitest';
import { FLAG_NAMES, getVariableName } from '../../adapters/server/cli/flags.ts';
import { helpText } from '../../adapters/server/cli/help.ts';
import { settingsSchema } from '../../adapters/server/config/schema.ts';
import { blockOf, codeIn, readPage, root, tablesOf } from './docs-pages.ts';

/** Whether tables are written instead of compared: `INTENTBOOK_WRITE=1`. */
const WRITE = process.env['INTENTBOOK_WRITE'] === '1';

/**
 * Compares the table between two markers of a page with rows from the code, or writes it. The last cell of a row is its
 * description. A description in the page wins over the one from the code, unless `exact` is set.
 */
function checkTable(
  path: string,
  name: string,
  header: readonly string[],
  rows: readonly (readonly string[])[],
  { exact = false }: { readonly exact?: boolean } = {},
): void {
  const page = readPage(path);
  const block = blockOf(page, name);
  const documented = tablesOf(block)[0]?.rows ?? [];
  const described = new Map(documented.map((row) => [row[0], row.at(-1)]));
  const wanted = rows.map((row) => (exact ? row : [...row.slice(0, -1), described.get(row[0]) ?? row.at(-1) ?? '']));
  if (WRITE) {
    const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
    const lines = [line(header), `|${'---|'.repeat(header.length)}`, ...wanted.map(line)];
    const marked = (content: string) => `<!-- ${name}:begin -->\n${content}<!-- ${name}:end -->`;
    const text = page.text.replace(marked(block), () => marked(`\n${lines.join('\n')}\n\n`));
    writeFileSync(join(root, path), text);
    return;
  }
  expect(documented.length).toBeGreaterThan(20);
  expect(documented).toEqual(wanted);
}

describe('documentation tables', () => {
  test('list every error code with status and meaning', () => {
    const rows = Object.entries(ERRORS).map(([code, { status, meaning, retryable }]) => [
      `\`${code}\``,
      String(status),
      retryable ? 'yes' : '',
      meaning,
    ]);
    checkTable('docs/reference/errors.md', 'errors', ['code', 'status', 'retryable', 'meaning'], rows, { exact: true });
  });

  test('list every route of the OpenAPI document', () => {
    const rows = Object.entries(openApiDocument({ standalone: true }).paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => {
        const { summary = '' } = operation as { summary?: string }; // an OpenAPI operation
        return [`\`${method.toUpperCase()} ${path}\``, summary];
      }),
    );
    checkTable('docs/reference/http.md', 'routes', ['endpoint', 'description'], rows);
  });

  test('list every setting with its scope, flag and environment variable', () => {
    const { properties = {} } = settingsSchema() as Setting;
    const book = properties['books']?.items?.properties ?? {};
    const common = properties['defaults']?.properties ?? {};
    const row = (scope: string, [key, { description = '' }]: [string, Setting]) => {
      const name = FLAG_NAMES.find((flag) => flag === toFlag(key));
      const flag = name === undefined ? ['', ''] : [`\`--${name}\``, `\`${getVariableName(name)}\``];
      return [`\`${key}\``, scope, ...flag, description];
    };
    const top = Object.entries(properties).filter(([key]) => !['$schema', 'books', 'defaults'].includes(key));
    const rows = [
      ...top.map((entry) => row('top level', entry)),
      ...Object.entries(book).map((entry) => row(entry[0] in common ? 'a book, `defaults`' : 'a book', entry)),
    ];
    const header = ['key', 'scope', 'flag', 'environment variable', 'description'];
    checkTable('docs/deploy/configuration.md', 'settings', header, rows);
  });
});

/** The part of a JSON schema that a table of settings shows. */
interface Setting {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Setting>>;
  readonly items?: Setting;
}

/** Returns `max-open-orders` for `maxOpenOrders`. */
function toFlag(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

describe('command line page', () => {
  const page = readPage('docs/reference/cli.md');
  const tables = tablesOf(page.text);

  test('lists every flag and no other', () => {
    const flags = tables.filter(({ header }) => header[0] === 'flag').flatMap(({ rows }) => rows.map(([flag]) => flag));
    const names = flags.map((flag = '') => /^`--([\w-]+)/.exec(flag)?.[1]);
    expect(names.sort()).toEqual([...FLAG_NAMES].sort());
  });

  test('lists every command and no other', () => {
    const { rows = [] } = tables.find(({ heading }) => heading === 'Commands') ?? {};
    const documented = rows.flatMap(([cell = '']) => codeIn(cell).map((code) => code.split(' ')[0]));
    const printed = [...helpText().matchAll(/^ {2}intentbook (\w+)/gm)].map(([, command]) => command);
    expect(new Set(printed).size).toBeGreaterThan(5);
    expect(new Set([...documented])).toEqual(new Set([...printed, 'help', 'version']));
  });
});

test('metrics page lists every metric and no other', () => {
  const code = readPage('adapters/server/metrics.ts').text;
  const counted = new Set([...code.matchAll(/'(intentbook_\w+)'/g)].map(([, metric]) => metric));
  const page = readPage('docs/reference/metrics.md');
  const documented = new Set([...page.text.matchAll(/^\| `(intentbook_\w+)` \|/gm)].map(([, metric]) => metric));
  expect(counted.size).toBeGreaterThan(10);
  expect([...documented].sort()).toEqual([...counted].sort());
  const alerts = [...page.text.matchAll(/\b(intentbook_\w+)\b/g)].map(([, metric]) => metric);
  expect(alerts.filter((metric) => !counted.has(metric))).toEqual([]);
});

test('notifications guide lists every notification type and no other', () => {
  const { rows = [] } =
    tablesOf(readPage('docs/guides/notifications.md').text).find(({ heading }) => heading === 'Notification types') ??
    {};
  expect(rows.map(([type = '']) => codeIn(type)[0]).sort()).toEqual([...NOTIFICATION_TYPES].sort());
});
