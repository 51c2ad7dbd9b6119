import { ERRORS } from 'intentbook';
import { NOTIFICATION_TYPES } from 'intentbook/accounts';
import { openApiDocument } from 'intentbook/openapi';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../apps/cli/commands.ts';
import { helpText } from '../../apps/cli/help.ts';
import { FLAGS, SETTING_TABLES } from '../../apps/server/settings/flags.ts';
import { configSchema } from '../../apps/server/settings/schema.ts';
import { describeSetting, GROUPS } from '../../apps/server/settings/setting.ts';
import { listRouteCodes } from '../../src/http/openapi/index.ts';
import { OPERATIONS } from '../../src/http/openapi/operations.ts';
import type { Endpoint } from '../../src/http/route.ts';
import { ORDER_BOOK_ROUTES } from '../../src/http/routes/index.ts';
import type { Profile } from '../../src/protocol/profile.ts';
import { CODE_DIFFERENCES } from '../../src/protocol/profile-codes.ts';
import { listCosts } from './cost-table.ts';
import { checkTable } from './docs-check-table.ts';
import { codeIn, readPage, tablesOf } from './docs-pages.ts';

/** Codes that any route, or any route with a body, can return. */
const ANY_ROUTE: ReadonlySet<string> = new Set([
  'RateLimited',
  'InternalServerError',
  'InvalidJson',
  'InvalidBody',
  'PayloadTooLarge',
  'UnsupportedMediaType',
] satisfies (keyof typeof ERRORS)[]);

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

  test('list every code that differs between the profiles', () => {
    const rows = CODE_DIFFERENCES.map(({ code, production, routes, meaning }) => [
      `\`${code}\` ${ERRORS[code].status}`,
      `\`${production.code}\` ${production.status}`,
      routes.map((route) => `\`${route.replace(/:(\w+)/g, '{$1}')}\``).join(', '),
      meaning,
    ]);
    const header = ['specification', 'production', 'routes', 'case'];
    checkTable('docs/reference/errors.md', 'profiles', header, rows, { exact: true, least: 1 });
  });

  test('list the codes of each route by profile', () => {
    const codesOf = (route: Endpoint, profile: Profile) => {
      const operation = OPERATIONS[`${route.method} ${route.path}`];
      const codes = [...listRouteCodes(route, operation, profile)].flatMap(([status, some]) =>
        some.filter((code) => !ANY_ROUTE.has(code)).map((code) => `\`${code}\` ${status}`),
      );
      return codes.sort();
    };
    const rows = ORDER_BOOK_ROUTES.map((route) => {
      const [specification, production] = [codesOf(route, 'specification'), codesOf(route, 'production')];
      const difference = [
        ...specification.filter((code) => !production.includes(code)).map((code) => `not ${code}`),
        ...production.filter((code) => !specification.includes(code)),
      ];
      const path = `\`${route.method} ${route.path.replace(/:(\w+)/g, '{$1}')}\``;
      return [path, specification.join(', '), difference.join(', ')];
    }).filter(([, codes, difference]) => `${codes}${difference}` !== '');
    const header = ['route', 'specification', 'difference of production'];
    checkTable('docs/reference/errors.md', 'routes', header, rows, { exact: true });
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

  test('list the cost of every endpoint', () => {
    const rows = listCosts().map(({ endpoint, bucket, tokens, growth }) => [`\`${endpoint}\``, bucket, tokens, growth]);
    const header = ['endpoint', 'bucket', 'tokens', 'work grows with'];
    checkTable('docs/reference/costs.md', 'costs', header, rows, { exact: true });
  });

  test('list every setting with its scope, flag and environment variable', () => {
    const scopes = { server: 'top level', book: 'a book', common: 'a book, `defaults`', command: '' };
    const rows = SETTING_TABLES.filter(([scope]) => scope !== 'command').flatMap(([scope, table]) =>
      Object.entries(table).map(([key, setting]) => {
        const flags = FLAGS.filter((flag) => flag.scope === scope && flag.path[0] === key && !flag.inFile);
        const names = flags.map(({ name }) => `\`--${name}\``).join(', ');
        const variables = flags.map(({ variable }) => `\`${variable}\``).join(', ');
        return [`\`${key}\``, scopes[scope], names, variables, describeSetting(setting)];
      }),
    );
    const header = ['key', 'scope', 'flag', 'environment variable', 'description'];
    checkTable('docs/deploy/configuration.md', 'settings', header, rows, { exact: true });
  });

  test('list every flag by group with its commands', () => {
    const rows = GROUPS.flatMap((group) =>
      FLAGS.filter(({ setting, inFile }) => setting.group === group && !inFile).map((flag) => {
        const { name, setting } = flag;
        const { type, secret } = setting;
        const value = type.alone === true ? '' : ` ${type.value.replaceAll('|', '\\|')}`;
        const commands = COMMANDS.filter(({ flags }) => flags.includes(flag)).map((each) => `\`${each.name}\``);
        const file = secret === true ? ` Also \`--${name}-file\`.` : '';
        return [`\`--${name}${value}\``, group, commands.join(', '), describeSetting(setting) + file];
      }),
    );
    const header = ['flag', 'group', 'commands', 'description'];
    checkTable('docs/reference/cli.md', 'flags', header, rows, { exact: true });
  });

  test('list every key of the configuration schema', () => {
    const { properties = {} } = configSchema() as Setting;
    const keys = [
      ...Object.keys(properties).filter((key) => !['$schema', 'books', 'defaults'].includes(key)),
      ...Object.keys(properties['books']?.items?.properties ?? {}),
    ];
    const tables = SETTING_TABLES.filter(([scope]) => scope !== 'command');
    expect(keys.sort()).toEqual(tables.flatMap(([, table]) => Object.keys(table)).sort());
  });
});

/** The part of a JSON schema that a table of settings shows. */
interface Setting {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Setting>>;
  readonly items?: Setting;
}

describe('command line page', () => {
  const page = readPage('docs/reference/cli.md');
  const tables = tablesOf(page.text);

  test('lists every command and no other', () => {
    const { rows = [] } = tables.find(({ heading }) => heading === 'Commands') ?? {};
    const documented = rows.flatMap(([cell = '']) => codeIn(cell).map((code) => code.split(' ')[0]));
    const names = COMMANDS.map(({ name }) => name);
    expect(new Set([...documented])).toEqual(new Set(names));
    for (const name of names) expect(helpText()).toContain(`intentbook ${name}`);
  });
});

test('metrics page lists every metric and no other', () => {
  const code = ['apps/server/metrics.ts', 'adapters/prometheus/index.ts'].map((path) => readPage(path).text).join();
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

describe('page for store authors', () => {
  const tables = tablesOf(readPage('docs/extending/store.md').text);
  const readNames = (heading: string) =>
    tables.find((table) => table.heading === heading)?.rows.map(([cell = '']) => codeIn(cell)[0]) ?? [];
  /** Returns the members of an interface whose lines match a pattern. */
  const getMembers = (file: string, name: string, pattern: RegExp) => {
    const body = new RegExp(`export interface ${name} \\{\\n(.*?)\\n\\}`, 's').exec(readPage(file).text)?.[1] ?? '';
    return [...body.matchAll(pattern)].map(([, member]) => member);
  };

  test('lists every trait and no other', () => {
    const traits = getMembers('src/ports/store.ts', 'StoreTraits', /^ {2}readonly (\w+)\??:/gm);
    expect(traits.length).toBeGreaterThan(3);
    expect(readNames('Traits').sort()).toEqual(traits.sort());
  });

  test('lists every optional method and no other', () => {
    const optional = /^ {2}(\w+)\?\(/gm;
    const methods = [
      ...getMembers('src/ports/order-store.ts', 'OrderStore', optional).map((name) => `orders.${name}`),
      ...getMembers('src/ports/store.ts', 'EventStore', optional).map((name) => `events.${name}`),
    ];
    expect(methods.length).toBeGreaterThan(2);
    expect(readNames('Optional methods').sort()).toEqual(methods.sort());
  });
});
