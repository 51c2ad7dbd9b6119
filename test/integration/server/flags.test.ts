import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runSandboxCommand } from 'intentbook/sandbox';
import { afterAll, describe, expect, test } from 'vitest';
import { COMMANDS } from '../../../apps/cli/commands.ts';
import { helpText } from '../../../apps/cli/help.ts';
import { parseCommand } from '../../../apps/cli/parse.ts';
import { ECHO, onSignals, STOP_SIGNALS, type StopSignal } from '../../../apps/cli/signals.ts';
import { PLAIN } from '../../../apps/cli/style.ts';
import { planServer } from '../../../apps/server/config/plan.ts';
import { FLAGS as FLAG_TABLE, findFlag } from '../../../apps/server/settings/flags.ts';
import { createSettingReader } from '../../../apps/server/settings/read.ts';
import { BOOK_KEYS } from '../../../apps/server/settings/schema.ts';
import { SERVER_SETTINGS } from '../../../apps/server/settings/server-settings.ts';
import { singleBook } from '../../../apps/server/settings/single-book.ts';
import { UsageError } from '../../../apps/server/settings/usage-error.ts';
import { cleanUp, scratch } from './process.ts';

const BASE_URL = '--public-url must be an http or https URL without a query and a fragment';

afterAll(cleanUp);

const URL = 'postgres://me:secret@db:5432/books';

const DATABASE_FILE = 'a file name, or ":memory:" (a connection string belongs to "postgres")';
const ACCOUNT_LOCATION = 'a file name, ":memory:", a connection string or "off"';
const PLAIN_URL = 'an http or https URL without a user name and a password';

/** Returns the command that serves with these settings. */
const served = (options: object, more: object = {}) => {
  return { name: 'serve', options, warnings: [], connect: false, json: false, ...more };
};

/** Each flag with its variable, a value and the parsed value. */
const FLAGS = [
  ['--port', 'INTENTBOOK_PORT', '0', { port: 0 }],
  ['--port', 'INTENTBOOK_PORT', '65535', { port: 65535 }],
  ['--host', 'INTENTBOOK_HOST', '::1', { host: '::1' }],
  ['--chain', 'INTENTBOOK_CHAIN', 'mainnet', { chain: 'mainnet' }],
  ['--chain', 'INTENTBOOK_CHAIN', '31337', { chain: 31337 }],
  ['--environment', 'INTENTBOOK_ENVIRONMENT', 'staging', { environment: 'staging' }],
  [
    ...(['--settlement-contract', 'INTENTBOOK_SETTLEMENT_CONTRACT', `0x${'aB'.repeat(20)}`] as const),
    { settlementContract: `0x${'ab'.repeat(20)}` },
  ],
  ['--db', 'INTENTBOOK_DB', ':memory:', { db: ':memory:' }],
  ['--max-open-orders', 'INTENTBOOK_MAX_OPEN_ORDERS', '7', { maxOpenOrders: 7 }],
  ['--max-open-orders', 'INTENTBOOK_MAX_OPEN_ORDERS', 'off', { maxOpenOrders: 'off' }],
  ['--max-pending-presign', 'INTENTBOOK_MAX_PENDING_PRESIGN', '9', { maxPendingPresign: 9 }],
  ['--retention', 'INTENTBOOK_RETENTION', '90', { retention: 90 }],
  ['--retention-events', 'INTENTBOOK_RETENTION_EVENTS', '30', { retentionEvents: 30 }],
  ['--retention-notifications', 'INTENTBOOK_RETENTION_NOTIFICATIONS', '7', { retentionNotifications: 7 }],
  ['--metrics-port', 'INTENTBOOK_METRICS_PORT', '9464', { metricsPort: 9464 }],
  ['--metrics-host', 'INTENTBOOK_METRICS_HOST', '::1', { metricsHost: '::1' }],
  ['--log', 'INTENTBOOK_LOG', 'json', { log: 'json' }],
  ['--rate-limit', 'INTENTBOOK_RATE_LIMIT', 'off', { rateLimit: 'off' }],
  ['--rate-limit', 'INTENTBOOK_RATE_LIMIT', '5, 2,1', { rateLimit: { reads: 5, writes: 2, streams: 1 } }],
  ['--trusted-proxies', 'INTENTBOOK_TRUSTED_PROXIES', '::1, 10.0.0.0/8', { trustedProxies: ['::1', '10.0.0.0/8'] }],
  ['--explorer', 'INTENTBOOK_EXPLORER', 'off', { explorer: false }],
  [...(['--operator-token', 'INTENTBOOK_OPERATOR_TOKEN', 'x'.repeat(16)] as const), { operatorToken: 'x'.repeat(16) }],
  [
    '--affiliate-rpc',
    'INTENTBOOK_AFFILIATE_RPC',
    'http://a:1, https://b',
    { affiliateRpc: ['http://a:1', 'https://b'] },
  ],
  ['--affiliate-domain', 'INTENTBOOK_AFFILIATE_DOMAIN', 'Acme Affiliate', { affiliateDomain: 'Acme Affiliate' }],
  ['--coin-gecko', 'INTENTBOOK_COIN_GECKO', 'CG-1', { coinGecko: { apiKey: 'CG-1' } }],
  ['--funding-check', 'INTENTBOOK_FUNDING_CHECK', '5', { fundingCheck: 5 }],
  ['--funding-check', 'INTENTBOOK_FUNDING_CHECK', 'off', { fundingCheck: 'off' }],
  ['--public-url', 'INTENTBOOK_PUBLIC_URL', 'https://a', { publicUrl: 'https://a' }],
  ['--prices', 'INTENTBOOK_PRICES', 'prices.json', { prices: 'prices.json' }],
  ['--solvers', 'INTENTBOOK_SOLVERS', 'http://a:1,https://b/x', { solvers: ['http://a:1', 'https://b/x'] }],
  ['--gas-price', 'INTENTBOOK_GAS_PRICE', '1.5e9', { gasPrice: '1.5e9' }],
  ['--chain', 'INTENTBOOK_CHAIN', 'gnosis', { chain: 'gnosis' }],
  ['--max-app-data-size', 'INTENTBOOK_MAX_APP_DATA_SIZE', '8192', { maxAppDataSize: 8192 }],
  ['--denied-tokens', 'INTENTBOOK_DENIED_TOKENS', 'tokens.txt', { deniedTokens: 'tokens.txt' }],
  ['--notifications', 'INTENTBOOK_NOTIFICATIONS', 'off', { notifications: 'off' }],
  ['--reverted-notifications', 'INTENTBOOK_REVERTED_NOTIFICATIONS', 'on', { revertedNotifications: 'on' }],
  ['--streams-queue-size', 'INTENTBOOK_STREAMS_QUEUE_SIZE', '9', { streams: { queueSize: 9 } }],
  ['--coin-gecko-plan', 'INTENTBOOK_COIN_GECKO_PLAN', 'demo', { coinGecko: { plan: 'demo' } }],
  ['--rpc', 'INTENTBOOK_RPC', 'http://a:1, https://b/key', { rpc: ['http://a:1', 'https://b/key'] }],
] as const;

describe('command-line flags', () => {
  test('serve without flags has no settings', () => {
    expect(parseCommand(['serve'], {})).toEqual(served({}));
  });

  test.each(FLAGS)('%s, %s %s', (flag, variable, text, read) => {
    const wanted = served(read);
    expect(parseCommand(['serve', flag, text], {})).toEqual(wanted);
    expect(parseCommand(['serve', `${flag}=${text}`], {})).toEqual(wanted);
    expect(parseCommand([flag, text, 'serve'], {})).toEqual(wanted);
    expect(parseCommand(['serve'], { [variable]: text })).toEqual(wanted);
    expect(parseCommand(['serve', flag, text], { [variable]: 'nonsense' })).toEqual(wanted);
    expect(helpText('serve', PLAIN, true)).toContain(flag);
  });

  test.each(['denied-addresses', 'denied-tokens'])('--%s has a list of addresses, or a file', (flag) => {
    const name = flag === 'denied-tokens' ? 'deniedTokens' : 'deniedAddresses';
    const [a, b] = [`0x${'7f'.repeat(20)}`, `0x${'8A'.repeat(20)}`];
    const read = (text: string) => parseCommand(['serve', `--${flag}`, text], {});
    expect(read(a)).toEqual(served({ [name]: [a] }));
    expect(read(`${a}, ${b}`)).toEqual(served({ [name]: [a, b] }));
    expect(read('/etc/denied,0x1.txt')).toEqual(served({ [name]: '/etc/denied,0x1.txt' }));
    for (const text of [`${a},0x12`, '0x12']) expect(() => read(text)).toThrow('addresses separated by commas');
  });

  test.each([
    'db',
    'accounts',
    'prices',
    'affiliate-payouts',
    'upstream-key-file',
    'upstream-header-file',
    'fee-policies',
    'denied-addresses',
    'denied-tokens',
  ])('--%s has a file name that is no word of a switch', (flag) => {
    const upstream = flag.startsWith('upstream') ? ['--upstream', 'http://a'] : [];
    const read = (text: string) => parseCommand(['serve', `--${flag}`, text, ...upstream], {});
    for (const text of ['on', 'true', 'YES', 'no', 'mysql://a/b', 'a.txt\n', ' a.txt', 'a.txt ', 'a\u0007.txt']) {
      expect(() => read(text)).toThrow(new RegExp(`^--${flag} must be .*file name`));
    }
    for (const text of ['./on', 'once', 'no.txt', 'a b.txt', 'a']) expect(read(text)).toMatchObject({ name: 'serve' });
  });

  test.each(FLAG_TABLE.filter(({ inFile }) => !inFile))('$variable must not be in quotes', (flag) => {
    for (const quote of ['"', "'"]) {
      const text = `${quote}on${quote}`;
      const sources = [
        [flag.variable, { given: new Map(), env: { [flag.variable]: text } }],
        [`--${flag.name}`, { given: new Map([[flag.name, text]]), env: {} }],
      ] as const;
      for (const [source, each] of sources) {
        expect(createSettingReader(each).problems([flag])).toEqual([`${source} must not be in quotes`]);
      }
    }
  });

  test('the help of --affiliate-statistics names the terms that it requires', () => {
    expect(helpText('serve', PLAIN, true).replace(/\s+/g, ' ')).toMatch(/`?own`?,[^.]*requires `?affiliateTerms`? /);
  });

  test('serve deletes chain events and documents of orders only if orders are deleted', () => {
    const flags = ['--retention-chain-events', '91', '--retention-documents', '92'];
    const read = { retention: 90, retentionChainEvents: 91, retentionDocuments: 92 };
    expect(parseCommand(['serve', '--retention', '90', ...flags], {})).toEqual(served(read));
    expect(() => parseCommand(['serve', ...flags], {})).toThrow('--retention-chain-events requires --retention <days>');
  });

  test.each([
    [['--postgres', URL], {}, { postgres: URL }],
    [[], { INTENTBOOK_POSTGRES: URL, INTENTBOOK_DB: 'x' }, { postgres: URL }],
    [['--postgres', URL, '--schema', 'Book_1'], {}, { postgres: URL, schema: 'Book_1' }],
    [['--postgres', URL, '--migrate'], {}, { postgres: URL, migrate: true }],
    [['--migrate', '--postgres', URL], {}, { postgres: URL, migrate: true }],
    [['--postgres', URL], { INTENTBOOK_MIGRATE: 'on' }, { postgres: URL, migrate: true }],
    [['--postgres', URL, '--migrate=off'], { INTENTBOOK_MIGRATE: 'on' }, { postgres: URL, migrate: false }],
    [['--postgres', URL, '--postgres-read', `${URL}2`], {}, { postgres: URL, postgresRead: `${URL}2` }],
  ] as [string[], Record<string, string>, object][])(
    'serve %j with %j stores orders in PostgreSQL',
    (args, env, read) => {
      expect(parseCommand(['serve', ...args], env)).toEqual(served(read));
    },
  );

  test('migrate accepts a database and a schema', () => {
    const options = { postgres: URL, schema: 'intentbook' };
    expect(parseCommand(['migrate', '--postgres', URL], {})).toEqual({ name: 'migrate', options, json: false });
    expect(parseCommand(['migrate'], { INTENTBOOK_POSTGRES: URL, INTENTBOOK_SCHEMA: 'a' })).toEqual({
      name: 'migrate',
      json: false,
      options: { ...options, schema: 'a' },
    });
    expect(parseCommand(['migrate', '--postgres', URL, '--accounts', URL], {})).toEqual({
      name: 'migrate',
      json: false,
      options: { ...options, accounts: URL },
    });
    expect(parseCommand(['migrate', '--accounts', 'a.sqlite'], {})).toEqual({
      name: 'migrate',
      json: false,
      options: { schema: 'intentbook', accounts: 'a.sqlite' },
    });
  });

  test('serve with a configuration file accepts the address flags', () => {
    const config = 'books.json';
    expect(parseCommand(['serve', '--config', config], {})).toEqual(served({}, { config }));
    expect(parseCommand(['serve', '--port', '1'], { INTENTBOOK_CONFIG: config, INTENTBOOK_HOST: '::' })).toEqual(
      served({ port: 1, host: '::' }, { config }),
    );
  });

  test('variables that Kubernetes sets for a service named intentbook are ignored', () => {
    const env = {
      INTENTBOOK_SERVICE_HOST: '10.0.0.1',
      INTENTBOOK_SERVICE_PORT_HTTP: '80',
      INTENTBOOK_PORT_80_TCP_ADDR: '10.0.0.1',
      INTENTBOOK_STAGING_SERVICE_PORT: '80',
      INTENTBOOK_PORT: 'tcp://10.0.0.1:80',
      INTENTBOOK_METRICS_PORT: 'tcp://10.0.0.2:9090',
      INTENTBOOK_STAGING_PORT: 'udp://10.0.0.3:80',
      INTENTBOOK_STAGING_PORT_80_SCTP: 'sctp://10.0.0.3:80',
    };
    expect(parseCommand(['serve'], env)).toEqual(served({}));
  });

  test('settings that belong together are given together, by flags and variables', () => {
    const mail = { smtp: 'smtps://a:b@c', mailFrom: 'a@b.org', publicUrl: 'https://a' };
    const args = ['serve', '--smtp', mail.smtp, '--mail-from', mail.mailFrom];
    expect(parseCommand(args, { INTENTBOOK_PUBLIC_URL: mail.publicUrl })).toEqual(served(mail));
    const env = {
      INTENTBOOK_VAPID_SUBJECT: 'mailto:a@b.org',
      INTENTBOOK_VAPID_PUBLIC_KEY: 'BA',
      INTENTBOOK_VAPID_PRIVATE_KEY: 'AA',
    };
    const keys = { vapidSubject: 'mailto:a@b.org', vapidPublicKey: 'BA', vapidPrivateKey: 'AA' };
    expect(parseCommand(['serve'], env)).toEqual(served(keys));
  });

  test('members of an object have separate flags', () => {
    const args = ['serve', '--telegram-token', '1:a', '--telegram-bot', 'Book'];
    expect(parseCommand(args, {})).toEqual(served({ telegram: { token: '1:a', bot: 'Book' } }));
    const env = { CMS_BASE_URL: 'https://a', CMS_API_KEY: 'b' };
    expect(parseCommand(['serve'], env)).toEqual(served({ cms: { url: 'https://a', apiKey: 'b' } }));
  });

  test('serve without flags listens on this machine only', () => {
    const plan = planServer({ books: [singleBook({})] }, '/srv');
    expect(plan.settings).toMatchObject({ port: 8080, host: '127.0.0.1', log: 'text', explorer: true });
    expect(plan.settings.rateLimit).toEqual({ reads: 50, writes: 10, streams: 32 });
    const [book] = plan.books;
    const { settings, place, path } = book ?? {};
    expect({ path, place }).toEqual({ path: '/', place: { kind: 'file', path: '/srv/intentbook.sqlite' } });
    expect(settings).toMatchObject({
      chain: 'sepolia',
      environment: 'production',
      maxOpenOrders: 1000,
      maxPendingPresign: 100,
      profile: 'specification',
      maxOrderGas: 8_000_000,
      gasPrice: '1000000000',
      pollInterval: 2000,
    });
  });

  test.each([
    ['true', {}, 0],
    ['', {}, 0],
    ['false', { notifications: 'off' }, 0],
    ['0', { notifications: 'off' }, 1],
    ['yes', { notifications: 'off' }, 1],
    ['TRUE', { notifications: 'off' }, 1],
  ])('CMS_ENABLED=%s gives %j and %i warnings', (enabled, settings, warnings) => {
    const command = parseCommand(['serve'], { CMS_ENABLED: enabled });
    expect(command).toMatchObject({ options: settings, warnings: expect.objectContaining({ length: warnings }) });
    expect(parseCommand(['serve'], {})).toMatchObject({ options: {} });
  });

  test('an empty variable is treated as absent', () => {
    expect(parseCommand(['serve'], { INTENTBOOK_PORT: '' })).toEqual(served({}));
  });

  test.each([
    'POSTGRES',
    'POSTGRES_FILE',
    'DB',
    'ACCOUNTS',
    'OPERATOR_TOKEN',
    'RPC',
    'RPC_FILE',
    'SANCTIONS_ORACLE',
    'DENIED_ADDRESSES',
    'DENIED_TOKENS',
  ])('INTENTBOOK_%s must not be empty', (name) => {
    const variable = `INTENTBOOK_${name}`;
    expect(() => parseCommand(['serve'], { [variable]: '' })).toThrow(`${variable} is empty; set it to `);
  });

  test.each([
    [['--help'], { name: 'help' }],
    [['-h'], { name: 'help' }],
    [['serve', '--help'], { name: 'help', of: 'serve' }],
    [['serve', '--help', '--all'], { name: 'help', of: 'serve', all: true }],
    [['help', 'serve', '--all'], { name: 'help', of: 'serve', all: true }],
    [['help'], { name: 'help' }],
    [['help', 'verify'], { name: 'help', of: 'verify' }],
    [['--version'], { name: 'version' }],
    [['-v'], { name: 'version' }],
    [['version'], { name: 'version' }],
    [['version', '--json'], { name: 'version', json: true }],
    [[], { name: 'help' }],
  ])('%j prints %j', (args, command) => expect(parseCommand(args, {})).toEqual(command));

  test.each(COMMANDS.flatMap(({ name, flags }) => flags.map((flag) => [name, flag] as const)))(
    '%s rejects a repeated flag',
    (name, flag) => {
      const message = `--${flag.name} must be given once`;
      for (const [first, second] of [
        ['=on', '=on'],
        ['=a', '=b'],
      ]) {
        const args = [name, `--${flag.name}${first}`, 'file', `--${flag.name}${second}`];
        expect(() => parseCommand(args, {})).toThrow(message);
      }
    },
  );

  test('the command of a sandbox rejects a repeated flag', async () => {
    const written: string[] = [];
    let exitCode = -1;
    const exit = (code: number): never => {
      exitCode = code;
      throw new Error('the command has ended');
    };
    const stderr = { write: (line: string) => written.push(line) };
    const host = { stdout: { write() {} }, stderr, on() {}, exit };
    const args = ['--chain', 'sepolia', '--port=0', '--chain', 'mainnet'];
    await expect(runSandboxCommand(args, host)).rejects.toThrow('the command has ended');
    expect([...written, exitCode]).toEqual(['intentbook: --chain must be given once\n', 2]);
  });

  const twelve =
    'mainnet (or ethereum), xdai (or gnosis), arbitrum_one (or arbitrum), base, avalanche (or avax), ' +
    'polygon (or matic), lens, linea, bnb (or bsc), plasma, ink, sepolia';
  test.each([
    [['help', 'verfy'], {}, 'unknown command "verfy", did you mean "verify"?'],
    [['sreve'], {}, 'unknown command "sreve", did you mean "serve"?'],
    [['--port', '1'], {}, 'a command is missing: run "intentbook serve", or "intentbook --help"'],
    [['serve', 'x'], {}, 'unexpected argument "x"; flags begin with two dashes'],
    [['serve', '--prot', '1'], {}, 'unknown flag "--prot", did you mean "--port"?'],
    [['serve', '--max-open-order=1'], {}, 'unknown flag "--max-open-order", did you mean "--max-open-orders"?'],
    [['export', '--verbose'], {}, 'unknown flag "--verbose"; "intentbook help export --all" lists them'],
    [['serve', '--verbose'], {}, 'unknown flag "--verbose"; "intentbook help serve --all" lists them'],
    [['serve', '--all'], {}, '--all requires --help'],
    [['serve', '-p', '1'], {}, 'unknown flag "-p"; "intentbook help serve --all" lists them'],
    [['serve', '--port'], {}, '--port requires a value: --port <number>'],
    [['serve', '--port', '--db', 'x'], {}, '--port requires a value: --port <number>'],
    ...['70000', '-1', '80a', '1e3', '8.5', '0x50', ' 80'].map((text) => [
      ['serve', `--port=${text}`],
      {},
      `--port must be an integer from 0 to 65535, got "${text}"`,
    ]),
    [['serve', '--port='], {}, '--port must be an integer from 0 to 65535, got ""'],
    [['serve', '--host='], {}, '--host must be an address of this machine, got ""'],
    [['serve', '--db='], {}, `--db must be ${DATABASE_FILE}, got ""`],
    [['serve', '--db', URL], {}, `--db must be ${DATABASE_FILE}`],
    [['serve', '--db', 'on'], {}, `--db must be ${DATABASE_FILE}, got "on"`],
    [['serve'], { INTENTBOOK_DB: URL }, `INTENTBOOK_DB must be ${DATABASE_FILE}`],
    [['serve', '--accounts', 'on'], {}, `--accounts must be ${ACCOUNT_LOCATION}`],
    [['serve', '--accounts', 'mysql://me:secret@db/books'], {}, `--accounts must be ${ACCOUNT_LOCATION}`],
    [['serve', '--coin-gecko-url', 'https://me:secret@db/'], {}, `--coin-gecko-url must be ${PLAIN_URL}`],
    [
      ['serve', '--chain', 'sepola'],
      {},
      `--chain must be one of ${twelve}, or a chain id, got "sepola"; did you mean "sepolia"?`,
    ],
    [['serve', '--chain', 'toString'], {}, `--chain must be one of ${twelve}, or a chain id, got "toString"`],
    [['serve', '--max-open-orders', '0'], {}, '--max-open-orders must be an integer from 1 up, or "off", got "0"'],
    ...['50', '50,10', '50,0,1', '1,1,1,1', 'on'].map((text) => [
      ['serve', '--rate-limit', text],
      {},
      `--rate-limit must be three integers from 1 up, as in 50,10,32, or "off", got "${text}"`,
    ]),
    [
      ['serve', '--trusted-proxies', '10.0.0.0/33'],
      {},
      '--trusted-proxies must be addresses or ranges, separated by commas, as in 127.0.0.1,10.0.0.0/8, got "10.0.0.0/33"',
    ],
    [['migrate'], {}, 'a database is missing: --postgres <url>, --accounts <location>, or both'],
    [['migrate', '--postgres', URL, '--port', '1'], {}, '--port is not a flag of "intentbook migrate"'],
    [['serve', '--postgres', URL, '--db', 'x'], {}, '--db and --postgres cannot be combined'],
    [['serve', '--smtp', 'smtp://a', '--mail-from', 'b@c.org'], {}, '--smtp requires --public-url'],
    [['serve', '--telegram-token', 'a'], {}, '--telegram-token requires --telegram-bot'],
    [
      ['serve', '--vapid-private-key', 'AA'],
      { INTENTBOOK_VAPID_SUBJECT: 'https://a' },
      'INTENTBOOK_VAPID_SUBJECT requires --vapid-public-key',
    ],
    [['serve'], { CMS_BASE_URL: 'https://a' }, 'CMS_BASE_URL requires CMS_API_KEY'],
    [['serve', '--mail-from', 'b'], {}, '--mail-from must be a mail address, such as books@example.org, got "b"'],
    [['serve', '--public-url', 'https://a?b'], {}, `${BASE_URL}, got "https://a?b"`],
    [['serve', '--public-url', 'https://a/#b'], {}, `${BASE_URL}, got "https://a/#b"`],
    [['serve', '--public-url', 'https://a/b '], {}, `${BASE_URL}, got "https://a/b "`],
    [['serve', '--reorg-limit', '9'], {}, '--reorg-limit requires --rpc <urls>'],
    [
      ['serve'],
      { INTENTBOOK_SANCTIONS_ORACLE: `0x${'12'.repeat(20)}` },
      'INTENTBOOK_SANCTIONS_ORACLE requires --rpc <urls>',
    ],
    [['serve', '--schema', 'x'], {}, '--schema requires --postgres <url>'],
    [['serve', '--migrate'], {}, '--migrate requires --postgres <url>'],
    // The value is not repeated, because it can contain a password.
    [
      ['serve', '--postgres', 'mysql://me:secret@db'],
      {},
      '--postgres must be a connection string: postgres://user:password@host:5432/database',
    ],
    [
      ['serve', '--postgres', URL, '--schema', 'a"b'],
      {},
      '--schema must be letters, digits and "_", at most 40, not beginning with a digit or "pg_", got "a"b"',
    ],
    [['serve'], { INTENTBOOK_PROT: '1' }, 'unknown variable "INTENTBOOK_PROT", did you mean "INTENTBOOK_PORT"?'],
    [['serve'], { INTENTBOOK_COLOUR: 'red' }, 'unknown variable "INTENTBOOK_COLOUR"'],
    ...[
      [['--chain', 'base'], {}, '--chain'],
      [[], { INTENTBOOK_DB: 'x' }, 'INTENTBOOK_DB'],
    ].map(([args, env, name]) => [
      ['serve', '--config', 'x.json', ...(args as string[])],
      env,
      `${name} cannot be combined with --config; set it in the config file`,
    ]),
    [['serve'], { INTENTBOOK_PORT: 'http' }, 'INTENTBOOK_PORT must be an integer from 0 to 65535, got "http"'],
    [
      ['serve'],
      { INTENTBOOK_CHAIN: 'goerli' },
      `INTENTBOOK_CHAIN must be one of ${twelve}, or a chain id, got "goerli"`,
    ],
    [
      ['serve', '--prot', '1', '--port', 'http', '--connect', '--db', 'a', '--db', 'b'],
      { INTENTBOOK_PROT: '1', INTENTBOOK_HOST: '::1', INTENTBOOK_LOG: 'xml' },
      [
        '6 problems:',
        'unknown flag "--prot", did you mean "--port"?',
        '--db must be given once',
        'unknown variable "INTENTBOOK_PROT", did you mean "INTENTBOOK_PORT"?',
        '--connect is not a flag of "intentbook serve"',
        '--port must be an integer from 0 to 65535, got "http"',
        'INTENTBOOK_LOG must be one of text, json, got "xml"',
      ].join('\n  '),
    ],
    [
      ['serve', '--schema', 'x', '--reorg-limit', '9', '--telegram-bot', 'a', '--smtp', 'smtp://a'],
      {},
      [
        '5 problems:',
        '--schema requires --postgres <url>',
        '--reorg-limit requires --rpc <urls>',
        '--telegram-bot requires --telegram-token',
        '--smtp requires --mail-from',
        '--smtp requires --public-url',
      ].join('\n  '),
    ],
    [['--prot', '1', 'serve'], {}, 'unknown flag "--prot", did you mean "--port"?'],
  ] as [string[], Record<string, string>, string][])('%j with %j is rejected', (args, env, message) => {
    expect(() => parseCommand(args, env)).toThrow(new UsageError(message));
  });
});

describe('secret in a file', () => {
  const TOKEN = 'x'.repeat(20);

  async function written(content: string): Promise<string> {
    const file = join(await scratch(), 'secret');
    writeFileSync(file, content);
    return file;
  }

  test('is read without its line feed, from a flag or a variable', async () => {
    const file = await written(`${TOKEN}\n`);
    const wanted = served({ operatorToken: TOKEN });
    expect(parseCommand(['serve', '--operator-token-file', file], {})).toEqual(wanted);
    expect(parseCommand(['serve'], { INTENTBOOK_OPERATOR_TOKEN_FILE: file })).toEqual(wanted);
    expect(parseCommand(['serve', '--operator-token-file', file], { INTENTBOOK_OPERATOR_TOKEN: 'y' })).toEqual(wanted);
  });

  test('exists for every secret', () => {
    const secrets = FLAG_TABLE.filter(({ setting, inFile }) => setting.secret === true && !inFile);
    expect(secrets.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['postgres', 'rpc', 'smtp', 'vapid-private-key', 'telegram-token', 'cms-api-key']),
    );
    for (const { name } of secrets) expect(findFlag(`${name}-file`)).toMatchObject({ inFile: true });
  });

  test('is rejected without repeating it', async () => {
    const file = await written('hunter2 with blanks');
    const attempt = (args: string[]) => () => parseCommand(['serve', ...args], {});
    expect(attempt(['--operator-token-file', file])).toThrow(
      `--operator-token-file: the content of "${file}" must be 16 or more letters, digits and signs, without blanks`,
    );
    expect(attempt(['--operator-token-file', file])).not.toThrow('hunter2');
    const quoted = await written(`"${TOKEN}"\n`);
    const text = `--operator-token-file: the content of "${quoted}" must not be in quotes`;
    expect(attempt(['--operator-token-file', quoted])).toThrow(new UsageError(text));
    expect(attempt(['--operator-token-file', `${file}x`])).toThrow(`the file "${file}x" cannot be read (ENOENT)`);
    expect(attempt(['--operator-token-file', file, '--operator-token', TOKEN])).toThrow('exclude each other');
  });
});

describe('stop signals', () => {
  function stopper() {
    const calls: string[] = [];
    const listeners = new Map<string, (signal: StopSignal) => void>();
    const clock = { now: 1000 };
    const source = { on: (name: StopSignal, listener: (signal: StopSignal) => void) => listeners.set(name, listener) };
    const handlers = { first: (signal: string) => calls.push(`first ${signal}`), second: () => calls.push('second') };
    onSignals(source, () => clock.now, handlers, true);
    return { calls, clock, send: (signal: StopSignal) => listeners.get(signal)?.(signal) };
  }

  test.each(STOP_SIGNALS)('%s is the first signal', (signal) => {
    const { calls, send } = stopper();
    send(signal);
    expect(calls).toEqual([`first ${signal}`]);
  });

  test('a signal directly after the first is an echo, because npm forwards the signal of the terminal', () => {
    const { calls, clock, send } = stopper();
    send('SIGINT');
    clock.now += ECHO - 1;
    send('SIGINT');
    expect(calls).toEqual(['first SIGINT']);
  });

  test('a later signal of any kind is the second', () => {
    const { calls, clock, send } = stopper();
    send('SIGTERM');
    clock.now += ECHO;
    send('SIGINT');
    expect(calls).toEqual(['first SIGTERM', 'second']);
  });
});

test('each setting is used by the code that reads no settings', () => {
  const apps = join(import.meta.dirname, '../../../apps');
  const files = readdirSync(apps, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const users = files
    .filter((file) => !file.includes('settings'))
    .map((file) => readFileSync(join(apps, file), 'utf8'));
  const words = new Set(users.join('\n').match(/\w+/g));
  const settings = [...BOOK_KEYS, ...Object.keys(SERVER_SETTINGS)];
  expect(settings.length).toBeGreaterThan(100);
  expect(settings.filter((name) => !words.has(name))).toEqual([]);
});
