import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { checkSettings } from '../../../apps/server/commands/check.ts';
import { configTemplate, initConfig } from '../../../apps/server/commands/init.ts';
import { parseJsonc } from '../../../apps/server/config/jsonc.ts';
import { mergeSettings } from '../../../apps/server/config/load.ts';
import { planServer } from '../../../apps/server/config/plan.ts';
import { planOptions } from '../../../apps/server/config/plan-options.ts';
import type { ServeOptions } from '../../../apps/server/index.ts';
import { CHAINS } from '../../../src/protocol/chains.ts';
import { CLI, cleanUp, intentbook, run, scratch } from './process.ts';

afterAll(cleanUp);

describe('configuration file that is not named', () => {
  test.each(['check', 'doctor'])('is mentioned by %s', async (name) => {
    const cwd = await scratch();
    const hint = 'intentbook: intentbook.json is not used; to use it, add --config intentbook.json\n';
    writeFileSync(join(cwd, 'intentbook.json'), '{"books":[{"chain":"gnosis","db":":memory:"}]}');
    const run = async (...args: string[]) => (await intentbook([name, ...args], { cwd }).ended).stderr;
    expect(await run('--db', ':memory:')).toBe(hint);
    expect(await run('--config', 'intentbook.json')).toBe('');
    expect(await run('--db', ':memory:', '--json')).toBe('');
  });
});

describe('intentbook init', () => {
  test('writes a file that is JSON without its comments, with a schema that exists', async () => {
    const cwd = await scratch();
    const withoutComments = () =>
      JSON.parse(readFileSync(join(cwd, 'intentbook.json'), 'utf8').replace(/^ *\/\/.*$/gm, ''));
    await initConfig(join(cwd, 'intentbook.json'), 'gnosis');
    expect(withoutComments()).toEqual({ defaults: {}, books: [{ chain: 'gnosis' }] });
    rmSync(join(cwd, 'intentbook.json'));
    mkdirSync(join(cwd, 'node_modules/intentbook/dist'), { recursive: true });
    writeFileSync(join(cwd, 'node_modules/intentbook/dist/config.schema.json'), '{}');
    await initConfig(join(cwd, 'intentbook.json'), 'gnosis');
    expect(withoutComments()).toMatchObject({ $schema: './node_modules/intentbook/dist/config.schema.json' });
  });

  test.each([...CHAINS.map(({ segment }) => segment), 'gnosis', 31337])('writes a valid file for %s', (chain) => {
    const text = configTemplate(chain);
    expect(planServer(parseJsonc(text), '/srv').books).toHaveLength(1);
    // Each commented line is valid as well, except for a database beside the file.
    const all = text.replace(/^( *)\/\/ ("\w+": )/gm, '$1$2');
    expect(planServer(parseJsonc(all), '/srv').settings).toMatchObject({ metricsPort: 9464 });
  });

  test('writes a file that check accepts, and does not overwrite it', async () => {
    const cwd = await scratch();
    const first = await intentbook(['init', '--chain', 'gnosis'], { cwd }).ended;
    expect([first.code, first.stderr]).toEqual([0, '']);
    expect(readFileSync(join(cwd, 'intentbook.json'), 'utf8')).toContain('"chain": "gnosis"');
    const checked = await intentbook(['check', '--config', 'intentbook.json', '--json'], { cwd }).ended;
    expect(JSON.parse(checked.stdout)).toEqual({
      ok: true,
      books: [
        {
          path: '/xdai',
          chain: 'xdai',
          chainId: 100,
          environment: 'production',
          database: join(cwd, 'xdai.sqlite'),
        },
      ],
      problems: [],
      notChecked: [],
    });
    const second = await intentbook(['init'], { cwd }).ended;
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('intentbook.json" already exists')]);
    const missing = await intentbook(['init', 'missing/books.json'], { cwd }).ended;
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringMatching(/missing" does not exist; create it/)]);
    const { stdout } = await intentbook(['init', "it's my book.json", '--chain', 'gnosis'], { cwd }).ended;
    expect(stdout).toContain(`"intentbook check --config 'it'\\''s my book.json'"`);
    // A name that begins with a dash would be a flag.
    const dash = await intentbook(['init', '--', '-x.json'], { cwd }).ended;
    expect(dash.stdout).toContain('"intentbook check --config ./-x.json"');
  });
});

describe('intentbook check', () => {
  const problemsOf = async (folder: string, options: ServeOptions) =>
    (await checkSettings(planOptions({ ...options, folder }).plan, folder)).problems;

  test('names a database file that cannot be opened, and the folder that it needs', async () => {
    const folder = await scratch();
    const at = (name: string) => join(folder, name);
    writeFileSync(at('bad.sqlite'), 'garbage');
    writeFileSync(at('long.sqlite'), 'garbage '.repeat(100));
    writeFileSync(at('empty.sqlite'), '');
    mkdirSync(at('folder.sqlite'));
    expect(await problemsOf(folder, { db: 'new.sqlite' })).toEqual([]);
    expect(await problemsOf(folder, { db: 'empty.sqlite' })).toEqual([]);
    expect(await problemsOf(folder, { db: 'none/x.sqlite', accounts: 'off' })).toEqual([
      `/: the folder "${at('none')}" does not exist`,
    ]);
    for (const db of ['bad.sqlite', 'long.sqlite']) {
      expect(await problemsOf(folder, { db })).toEqual([`/: the file "${at(db)}" is not an SQLite database`]);
    }
    expect(await problemsOf(folder, { db: 'folder.sqlite' })).toEqual([
      `/: the database "${at('folder.sqlite')}" is a folder`,
    ]);
    expect(await problemsOf(folder, { db: 'bad.sqlite/x.sqlite', accounts: ':memory:' })).toEqual([
      `/: the file "${at('bad.sqlite/x.sqlite')}" cannot be opened (ENOTDIR)`,
    ]);
    expect(await problemsOf(folder, { db: ':memory:', accounts: 'bad.sqlite' })).toEqual([
      `accounts: the file "${at('bad.sqlite')}" is not an SQLite database`,
    ]);
  });

  test('lists the parts that need a connection', async () => {
    const notChecked = async (options: ServeOptions) =>
      (await checkSettings(planOptions(options).plan, '.')).notChecked;
    const nodes = 'the nodes (run "intentbook doctor")';
    const databases = 'PostgreSQL and its schemas (add --connect)';
    expect(await notChecked({ db: ':memory:' })).toEqual([]);
    expect(await notChecked({ db: ':memory:', accounts: 'postgres://db/books' })).toEqual([databases]);
    expect(await notChecked({ postgres: 'postgres://db/books', rpc: ['http://127.0.0.1:1'] })).toEqual([
      databases,
      nodes,
    ]);
  });

  test('prints what was not checked, and a report has each problem once', async () => {
    const cwd = await scratch();
    const check = await intentbook(['check', '--postgres', 'postgres://127.0.0.1:1/books'], { cwd }).ended;
    expect([check.code, check.stdout]).toEqual([
      0,
      expect.stringMatching(/schema intentbook\nnot checked: PostgreSQL and its schemas \(add --connect\)\n$/),
    ]);
    const { code, stdout } = await intentbook(['doctor', '--db', 'none/x.sqlite', '--accounts', 'off'], { cwd }).ended;
    expect([code, stdout.match(/PROBLEM .*/g)]).toEqual([
      1,
      [expect.stringMatching(/^PROBLEM settings +\/: the folder ".*none" does not exist$/)],
    ]);
  });

  test('lists files that are missing or malformed, and exits with 1', async () => {
    const cwd = await scratch();
    writeFileSync(join(cwd, 'denied.txt'), 'COW\n');
    const args = ['check', '--prices', 'prices.json', '--denied-tokens', 'denied.txt'];
    const { code, stdout, stderr } = await intentbook(args, { cwd }).ended;
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^1 book\n {2}\/: sepolia \(11155111\)/)]);
    expect(stderr).toContain(`${join(cwd, 'prices.json')} cannot be read`);
    expect(stderr).toContain(`${join(cwd, 'denied.txt')}, line 1 must be 0x and 40 hex digits`);
  });

  test('reads the files of a configuration relative to its folder', async () => {
    const cwd = await scratch();
    const folder = join(cwd, 'books');
    mkdirSync(folder);
    writeFileSync(join(folder, 'payouts.txt'), '');
    const config = { affiliatePayouts: 'payouts.txt', books: [{ chain: 'base', db: ':memory:' }] };
    writeFileSync(join(folder, 'books.json'), JSON.stringify(config));
    const { code, stderr } = await intentbook(['check', '--config', 'books/books.json'], { cwd }).ended;
    expect([code, stderr]).toEqual([0, '']);
  });

  test('reads the files of flags relative to the current directory', async () => {
    const cwd = await scratch();
    mkdirSync(join(cwd, 'books'));
    writeFileSync(join(cwd, 'payouts.txt'), '');
    writeFileSync(join(cwd, 'books', 'books.json'), '{"books":[{"chain":"base"}]}');
    const flags = ['--config', 'books/books.json', '--affiliate-payouts', 'payouts.txt'];
    const { code, stderr } = await intentbook(['check', ...flags], { cwd }).ended;
    expect([code, stderr]).toEqual([0, '']);
  });

  test.each(['off', ':memory:', 'postgres://db/books'])('keeps the location %s of the account store', (accounts) => {
    expect(mergeSettings({ folder: '/srv' }, { accounts })).toEqual({ folder: '/srv', accounts });
    expect(mergeSettings({ accounts, folder: '/srv' }, { accounts: 'a.sqlite' }).accounts).toBe(resolve('a.sqlite'));
    expect(mergeSettings({ host: './a', folder: '/srv' }, { host: './b' }).host).toBe(resolve('b'));
    expect(mergeSettings({ host: './a', folder: '/srv' }, { host: '::1' }).host).toBe('::1');
  });

  test.each([
    [['--telegram-token', '1:a', '--telegram-bot', '@book'], 'telegramChannel: bot must be the name of a bot'],
    [
      ['--vapid-subject', 'mailto:a@b', '--vapid-public-key', 'BA', '--vapid-private-key', 'AA'],
      'webPushChannel: subject must be an https URL',
    ],
    [['--upstream', 'http://a', '--upstream-reads', '0'], 'budget.read must be a positive number, got 0'],
    [['--upstream', 'http://a', '--upstream-contact', 'a(b)'], 'contact must be a URL or a mail address'],
    [['--upstream', 'http://a/api/v1'], 'url must be the part before /api/v1'],
  ])('lists settings %j with which the server does not start', async (flags, problem) => {
    const ended = await intentbook(['check', ...flags], { cwd: await scratch() }).ended;
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining(problem) });
  });

  test('lists fee policies, prices and gas prices with which the server does not start', async () => {
    const cwd = await scratch();
    writeFileSync(join(cwd, 'fees.json'), '{"protocolFees":[{"kind":"volume","factor":2000000}]}');
    writeFileSync(join(cwd, 'prices.json'), `{"0x${'12'.repeat(20)}":"abc"}`);
    const check = async (...args: string[]) => (await intentbook(['check', ...args], { cwd }).ended).stderr;
    const fees = ['--fee-policies', 'fees.json'];
    expect(await check(...fees)).toContain('factor must be an integer from 0 to 999999');
    expect(await check(...fees, '--volume-fee', '5')).toContain('must not be given together with feePolicies');
    expect(await check('--prices', 'prices.json')).toContain('must be a positive decimal number, got "abc"');
    expect(await check('--gas-price', '1e200')).toContain('below 2^256');
  });

  test('ignores a byte order mark in its files, and names UTF-16', async () => {
    const cwd = await scratch();
    const token = `0x${'12'.repeat(20)}`;
    const prices = join(cwd, 'prices.json');
    const fees = join(cwd, 'fees.json');
    const text = JSON.stringify({ books: [{ chain: 'gnosis', prices, feePolicies: fees }] });
    const config = join(cwd, 'books.json');
    const check = () => intentbook(['check', '--config', config], { cwd }).ended;
    writeFileSync(config, `\uFEFF${text}`);
    writeFileSync(prices, `\uFEFF{"${token}":"1.5"}`);
    writeFileSync(fees, '\uFEFF{"protocolFees":[]}');
    expect(await check()).toMatchObject({ code: 0, stderr: '' });
    writeFileSync(config, Buffer.from(`\uFEFF${text}`, 'utf16le'));
    expect(await check()).toMatchObject({ code: 2, stderr: expect.stringContaining('must be UTF-8, got UTF-16') });
  });

  test('exits with 2 for an invalid file, and prints the error as JSON', async () => {
    const cwd = await scratch();
    writeFileSync(join(cwd, 'books.json'), '{\n  "books": [{ "chain": "gnosis" }], // a comment\n  "prot": 1\n}\n');
    const { code, stdout, stderr } = await intentbook(['check', '--config', 'books.json', '--json'], { cwd }).ended;
    expect([code, stderr]).toEqual([2, '']);
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      error: { code: 'UsageError', message: expect.stringContaining('unknown key "prot", did you mean "port"?') },
    });
  });
});

describe('error of a command with --json', () => {
  test.each([
    [['verify', '--db', 'missing.sqlite', '--json'], 1, 'does not exist'],
    [['verify', '--dbb', 'x', '--json'], 2, 'did you mean "--db"?'],
    [['import', 'missing.ndjson', '--json'], 1, 'missing.ndjson" does not exist'],
    [['migrate', '--json'], 2, 'a database is missing'],
  ])('%j is one JSON object', async (args, code, message) => {
    const ended = await intentbook(args, { cwd: await scratch() }).ended;
    expect([ended.code, ended.stderr]).toEqual([code, '']);
    expect(JSON.parse(ended.stdout)).toMatchObject({ ok: false, error: { message: expect.stringContaining(message) } });
  });
});

describe('JSON with comments', () => {
  test.each([
    [
      '{"a": "// no comment /* none */ ,}", /* one */ "b": [1, 2,], // two\n}',
      { a: '// no comment /* none */ ,}', b: [1, 2] },
    ],
    ['// first\n[]', []],
    ['{"a": "\\"//"}', { a: '"//' }],
    ['{"a": 1, /* , */ }', { a: 1 }],
    ['{"http": "http://a/b"}', { http: 'http://a/b' }],
  ])('%j is parsed', (text, value) => expect(parseJsonc(text)).toEqual(value));

  test.each([
    ['{\n  "a": x\n}', 'line 2, column 8: invalid symbol'],
    ['{\n  // note\n  "a": 1 "b"\n}', 'line 3, column 10: comma expected'],
    ['{ "a": 1', 'line 1, column 9: close brace expected'],
    ['[1,,]', 'line 1, column 4: value expected'],
    ['{\n  "a": 1,\n  "b": [{ "a": 1 }, { "a": 2, "\\u0061": 3 }]\n}', 'line 3, column 31: the key "a" is repeated'],
    ['{ "a": 1, "b": 2, "a": 1 }', 'line 1, column 19: the key "a" is repeated'],
  ])('%j is rejected with its line and column', (text, message) => {
    expect(() => parseJsonc(text)).toThrow(message);
  });
});

describe('intentbook in a directory that was removed', () => {
  const commands = ['check', 'doctor --json', 'init', 'serve --port 0', 'check --config a.json'];
  test.runIf(process.platform !== 'win32').each(commands)('names it: %s', async (line) => {
    const command = line.split(' ');
    const shell = 'rmdir "$PWD" && exec "$@"';
    const args = ['-c', shell, 'sh', process.execPath, CLI, ...command];
    const { code, stdout, stderr } = await run('/bin/sh', args, { cwd: await scratch() }).ended;
    const message = 'the current directory was removed; change to another';
    if (!command.includes('--json')) expect([code, stdout, stderr]).toEqual([1, '', `intentbook: ${message}\n`]);
    else expect([code, JSON.parse(stdout).error]).toEqual([1, { code: 'ENOENT', message }]);
  });
});
