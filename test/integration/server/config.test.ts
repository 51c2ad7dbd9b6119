import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { memoryStore } from 'intentbook/memory';
import type { ServeOptions } from 'intentbook/server';
import { ConfigError, serve } from 'intentbook/server';
import { afterEach, describe, expect, test } from 'vitest';
import { planServer } from '../../../apps/server/config/plan.ts';
import { planOptions } from '../../../apps/server/config/plan-options.ts';
import { BOOK_SETTINGS, COMMON_SETTINGS } from '../../../apps/server/settings/book-settings.ts';
import { configSchema } from '../../../apps/server/settings/schema.ts';
import type { Setting } from '../../../apps/server/settings/setting.ts';
import { CHAINS } from '../../../src/protocol/chains.ts';
import { account, signOrder } from '../../support/orders.ts';
import { addressOf, cleanUp, intentbook, scratch } from './process.ts';

afterEach(cleanUp);

const SCHEMA_FILE = new URL('../../../dist/config.schema.json', import.meta.url);
const URL_OF_POSTGRES = 'postgres://me:secret@db:5432/books';

test('published JSON schema matches the settings', () => {
  expect(JSON.parse(readFileSync(SCHEMA_FILE, 'utf8'))).toEqual(configSchema());
});

describe('configuration plan', () => {
  const plan = (value: unknown) => planServer(value, '/srv').books;

  test('assigns every chain its path and file, in production and in staging', () => {
    const books = plan({
      books: CHAINS.flatMap(({ segment: chain }) => [{ chain }, { chain, environment: 'staging' }]),
    });
    expect(books).toHaveLength(24);
    for (const [i, { segment, chainId }] of CHAINS.entries()) {
      const place = (name: string) => ({ kind: 'file', path: `/srv/${name}.sqlite` });
      expect(books[2 * i]).toMatchObject({ path: `/${segment}`, chainId, place: place(segment) });
      expect(books[2 * i + 1]).toMatchObject({ path: `/staging/${segment}`, place: place(`${segment}-staging`) });
    }
  });

  test('finds every file that a configuration names relative to its folder', () => {
    const table: [string, Setting][] = Object.entries({ ...BOOK_SETTINGS, ...COMMON_SETTINGS });
    const keys = table.filter(([, { type }]) => /\bfile\b/.test(type.value + type.expected)).map(([key]) => key);
    expect(keys.length).toBeGreaterThan(6);
    const [book] = plan({ books: [Object.fromEntries(keys.map((key) => [key, `./${key}`]))] });
    const { db: _, ...files } = Object.fromEntries(keys.map((key) => [key, `/srv/${key}`]));
    expect(book).toMatchObject({ settings: files, place: { kind: 'file', path: '/srv/db' } });
    const { settings } = planServer({ books: [{}], host: './run/book.sock' }, '/srv');
    expect(settings.host).toBe('/srv/run/book.sock');
  });

  test('serves a chain without a name at the root, and a chain named by its id under that id', () => {
    expect(plan({ books: [{ chain: 31337 }, { chain: 1 }] })).toMatchObject([
      { chain: '31337', chainId: 31337, path: '/', place: { kind: 'file', path: '/srv/31337.sqlite' } },
      { chain: 'mainnet', chainId: 1, path: '/mainnet' },
    ]);
  });

  test('lets a book override the defaults and share their database without a conflict', () => {
    const defaults = { maxOpenOrders: 5, postgres: URL_OF_POSTGRES };
    const [first, second, third] = plan({
      defaults,
      books: [{ chain: 'base' }, { chain: 'ink', maxOpenOrders: 'off' }, { chain: 'bnb', db: 'bnb.sqlite' }],
    });
    expect(first).toMatchObject({
      settings: { maxOpenOrders: 5 },
      place: { schema: 'intentbook_base', connections: 10 },
    });
    expect(second).toMatchObject({ settings: { maxOpenOrders: 'off' }, place: { schema: 'intentbook_ink' } });
    expect(third?.place).toEqual({ kind: 'file', path: '/srv/bnb.sqlite' });
  });

  test('uses the replica, the fallbacks and the keys of a default connection with no other connection', () => {
    const books = [{ chain: 'base' }, { chain: 'ink', postgres: 'postgres://db2/books', upstream: 'https://b.org' }];
    const replica = { postgresRead: 'postgres://replica/books', postgresPooler: 'session' };
    const files = { upstreamKeyFile: 'key', upstreamHeaderFile: 'headers' };
    const own = { ...replica, ...files, upstreamFallbacks: ['https://c.org'] };
    const [first, second] = plan({
      defaults: { postgres: URL_OF_POSTGRES, upstream: 'https://a.org', ...own },
      books,
    });
    expect(first?.place).toMatchObject({ readUrl: replica.postgresRead, pooler: 'session' });
    expect(first?.settings).toMatchObject({ upstreamKeyFile: '/srv/key', upstreamFallbacks: ['https://c.org'] });
    expect(second?.place).toMatchObject({ url: 'postgres://db2/books', readUrl: undefined, pooler: undefined });
    const keys = ['upstreamKeyFile', 'upstreamHeaderFile', 'upstreamFallbacks'] as const;
    expect(keys.map((key) => second?.settings[key])).toEqual([undefined, undefined, undefined]);
    // Without a default connection, they are those of the books.
    expect(plan({ defaults: own, books })[1]).toMatchObject({
      settings: { upstreamKeyFile: '/srv/key' },
      place: { readUrl: replica.postgresRead, pooler: 'session' },
    });
  });
});

describe('chain without a known deployment', () => {
  test.each([{ chain: 1337 }, { chain: 31_337 }, { chain: 99_999, settlementContract: `0x${'12'.repeat(20)}` }])(
    'is served as %j',
    (book) => {
      expect(planServer({ books: [book] }, '/srv').books).toMatchObject([{ chainId: book.chain }]);
    },
  );
});

const CONNECTION = 'a connection string: postgres://user:password@host:5432/database';

const DATABASE_FILE = 'a file name, or ":memory:" (a connection string belongs to "postgres")';

describe('configuration error', () => {
  const ORACLE = `0x${'12'.repeat(20)}`;
  const oneBook = (book: object) => ({ books: [{ chain: 'sepolia', ...book }] });
  test.each([
    [{}, 'books is missing: it must be a list of books'],
    [{ books: [] }, 'books must name one book at least'],
    [{ books: {} }, 'books must be a list of books, got an object'],
    [{ ...oneBook({}), prot: 80 }, 'unknown key "prot", did you mean "port"?'],
    [{ ...oneBook({}), port: '80' }, 'port must be an integer from 0 to 65535, got "80"'],
    [{ ...oneBook({}), maxOpenOrders: 5 }, 'unknown key "maxOpenOrders" here; it belongs to defaults or books[]'],
    [oneBook({ port: 80 }), 'books[0]: unknown key "port" here; it belongs to the top'],
    [oneBook({ maxOpenOrder: 5 }), 'books[0]: unknown key "maxOpenOrder", did you mean "maxOpenOrders"?'],
    [{ ...oneBook({}), defaults: { solver: [] } }, 'defaults: unknown key "solver", did you mean "solvers"?'],
    [oneBook({ store: 'memory' }), 'books[0]: unknown key "store"'],
    [oneBook({ maxOpenOrders: 0 }), 'books[0].maxOpenOrders must be an integer from 1 up, or "off", got 0'],
    [oneBook({ ownerLimits: { '0x12': {} } }), 'books[0].ownerLimits.0x12 must be 0x and 40 hex digits'],
    [oneBook({ accountNames: { '0x12': 'A' } }), 'books[0].accountNames.0x12 must be 0x and 40 hex digits'],
    [
      oneBook({ tokenLogos: { [ORACLE]: 'https://example.org/a.png' } }),
      `tokenLogos.${ORACLE} must be a data URL of an`,
    ],
    [oneBook({ tokenLogos: { [ORACLE]: 'data:text/html;base64,YQ==' } }), 'must be a data URL of an image in base64'],
    [oneBook({ accountNames: { [ORACLE]: 1 } }), `books[0].accountNames.${ORACLE} must be text, got a number`],
    [
      oneBook({ ownerLimits: { [ORACLE]: { maxOpenOrders: '5' } } }),
      `books[0].ownerLimits.${ORACLE}.maxOpenOrders must be an integer from 0 up, or null`,
    ],
    [oneBook({ chain: 'goerli' }), 'books[0].chain must be one of mainnet (or ethereum), xdai (or gnosis), '],
    [oneBook({ chain: 'sepollia' }), 'sepolia, or a chain id, got "sepollia"; did you mean "sepolia"?'],
    [
      oneBook({ chain: 1_115_511 }),
      'books[0].chain: the protocol has no known contracts on chain 1115511; set "settlementContract"; did you mean "11155111"?',
    ],
    [oneBook({ chain: 99_999 }), /no known contracts on chain 99999; set "settlementContract"$/],
    [oneBook({ chain: 10 }), /no known contracts on chain 10; set "settlementContract"$/],
    [oneBook({ environment: 'barn' }), 'books[0].environment must be one of production, staging'],
    [oneBook({ path: 'sepolia' }), 'books[0].path must be "/" or a path such as "/sepolia"'],
    [oneBook({ path: '/a/../b' }), 'books[0].path must be "/" or a path such as "/sepolia"'],
    [oneBook({ path: '/.' }), 'books[0].path must be "/" or a path such as "/sepolia"'],
    [oneBook({ path: '/api/v1' }), 'books[0].path must not begin with a path of the server'],
    [oneBook({ path: '/1' }), 'books[0].path must not begin with a path of the server'],
    [oneBook({ settlementContract: '0x12' }), 'books[0].settlementContract must be 0x and 40 hex digits'],
    [oneBook({ solvers: ['localhost:80'] }), 'books[0].solvers[0] must be an http or https URL'],
    [oneBook({ prices: { '0x12': '1' } }), 'books[0].prices'],
    [oneBook({ db: 'postgres://me:secret@db/books' }), `books[0].db must be ${DATABASE_FILE}, got text`],
    [oneBook({ deniedTokens: 'true' }), 'books[0].deniedTokens must be a list of addresses, or the name of a file'],
    [oneBook({ prices: 7 }), 'books[0].prices must be prices by token, the name of a file with them, or "off", got 7'],
    [oneBook({ sanctionsOracle: ORACLE }), 'books[0]: "rpc" is missing: "sanctionsOracle" requires it'],
    [
      { ...oneBook({}), defaults: { sanctionsOracle: ORACLE } },
      'books[0]: "rpc" is missing: "sanctionsOracle" requires it',
    ],
    [oneBook({ db: 'x', postgres: URL_OF_POSTGRES }), 'books[0]: "db" and "postgres" exclude each other'],
    [{ ...oneBook({}), smtp: 'http://a' }, 'smtp must be a URL: smtps://user:password@host'],
    [{ ...oneBook({}), smtp: 'smtp://a', mailFrom: 'b@c.org' }, '"publicUrl" is missing: "smtp" requires it'],
    [{ ...oneBook({}), vapidPublicKey: 'BA' }, '"vapidSubject" is missing: "vapidPublicKey" requires it'],
    [{ books: [{ chain: 'base' }, { chain: 'base' }] }, 'books[1] has the same path as books[0]: /base'],
    [
      { books: [{ chain: 'base' }, { chain: 'ink', db: './base.sqlite' }] },
      'books[1] has the same place as books[0]: the file /srv/base.sqlite',
    ],
    [
      { ...oneBook({}), accounts: './sepolia.sqlite' },
      '"accounts" has the same place as books[0]: the file /srv/sepolia.sqlite',
    ],
  ])('names the key of %j', (value, problem) => {
    expect(() => planServer(value, '/srv')).toThrow(ConfigError);
    expect(() => planServer(value, '/srv')).toThrow(problem);
  });

  test('names a stream on NATS that two books have', () => {
    const books = [
      { chain: 'sepolia', path: '/a', db: 'a.sqlite' },
      { chain: 'sepolia', path: '/b', db: 'b.sqlite', settlementContract: `0x${'77'.repeat(20)}` },
    ];
    const natsUrl = ['nats://127.0.0.1:4222'];
    const plan = (defaults: object, extra?: object) => {
      const [first, second] = books;
      const { books: planned } = planServer({ defaults, books: [first, { ...second, ...extra }] }, '/srv');
      return planned.map(({ nats }) => nats?.stream);
    };
    const problem = (stream: string) =>
      new ConfigError([`books[1] has the same stream on NATS as books[0]: ${stream}`]);
    expect(() => plan({ natsUrl })).toThrow(problem('intentbook-sepolia'));
    expect(() => plan({ natsUrl, natsStream: 'events' })).toThrow(problem('events'));
    expect(plan({})).toEqual([undefined, undefined]);
    expect(plan({ natsUrl }, { natsStream: 'second' })).toEqual(['intentbook-sepolia', 'second']);
  });

  test.each([
    [{ smtp: 'smtp://a', mailFrom: 'a@b.org', publicUrl: 'https://a' }, 'smtp'],
    [{ telegram: { token: '1:a', bot: 'Books' } }, 'telegram'],
    [{ vapidSubject: 'https://a', vapidPublicKey: 'BA', vapidPrivateKey: 'AA' }, 'vapidSubject'],
  ])('names channels %j without an account store', (channel, key) => {
    const options = { ...oneBook({ postgres: URL_OF_POSTGRES }), ...channel } as ServeOptions;
    const problem = `"accounts" is missing: "${key}" requires it with PostgreSQL`;
    expect(() => planOptions(options)).toThrow(new ConfigError([problem]));
    for (const accounts of ['off', URL_OF_POSTGRES]) {
      expect(planOptions({ ...options, accounts }).plan.settings.accounts).toBe(accounts);
    }
  });

  test('lists all errors, without the secrets of a connection string', () => {
    const value = {
      port: -1,
      books: [
        { chain: 'goerli', postgres: URL_OF_POSTGRES, schema: 'a' },
        { chain: 'base', postgres: 'mysql://me:secret@x' },
      ],
    };
    const problems: unknown = (() => {
      try {
        return planServer(value, '/srv');
      } catch (error) {
        return error instanceof ConfigError ? error.problems : error;
      }
    })();
    expect(problems).toHaveLength(3);
    expect(JSON.stringify(problems)).not.toContain('secret');
    expect(problems).toContain(`books[1].postgres must be ${CONNECTION}, got text`);
  });
});

describe('server with several books', () => {
  const get = async (url: string) => {
    const response = await fetch(url);
    const text = await response.text();
    return { status: response.status, text, json: () => JSON.parse(text) };
  };

  test('names the contracts and accounts of each book for its explorer', async () => {
    const named = `0x${'1A'.repeat(20)}`;
    const [mainnet, sepolia] = await Promise.all(
      [{ chain: 'mainnet', accountNames: { [named]: 'First solver' } }, { chain: 'sepolia' }].map(async (book) => {
        const { url } = await serve({ port: 0, books: [{ ...book, store: memoryStore() }] });
        return (await get(`${url}/explorer/data/site`)).json().books[0].names;
      }),
    );
    const contracts = { '0x9008d19f58aabd9ed0d60971565aa8510560ab41': 'Settlement contract' };
    expect(mainnet).toMatchObject({ ...contracts, [named.toLowerCase()]: 'First solver' });
    expect(sepolia).toMatchObject(contracts);
    expect(Object.values(sepolia)).toEqual(['Settlement contract', 'Vault relayer', 'Native currency orders']);
  });

  test('serves the logos of tokens with their symbols', async () => {
    const tokenLogos = { '0xfFf9976782d46CC05630D1f6eBAb18b2324d6B14': 'data:image/png;base64,iVBORw0KGgo=' };
    const { url } = await serve({ port: 0, books: [{ chain: 'sepolia', tokenLogos, store: memoryStore() }] });
    const [weth] = Object.keys(tokenLogos).map((token) => token.toLowerCase());
    const tokens = (await get(`${url}/explorer/data/0/tokens?addresses=${weth}`)).json();
    expect(tokens).toMatchObject({ [weth ?? '']: { symbol: 'WETH', logo: Object.values(tokenLogos)[0] } });
  });

  test('serves each book at its path and lists the deployment', async () => {
    const server = await serve({
      port: 0,
      books: [
        { chain: 'mainnet', store: memoryStore() },
        { chain: 'mainnet', environment: 'staging', store: memoryStore() },
        { chain: 'sepolia', store: memoryStore() },
        { chain: 31337, db: ':memory:' },
      ],
    });
    const { url } = server;
    const versions = await Promise.all(
      ['/mainnet', '/staging/mainnet', '/sepolia', ''].map((path) => get(`${url}${path}/api/v1/version`)),
    );
    expect(versions.map(({ text }) => /chain .*/.exec(text)?.[0])).toEqual([
      'chain 1 settlement 0x9008d19f58aabd9ed0d60971565aa8510560ab41',
      'chain 1 settlement 0xf553d092b50bdcbdded1a99af2ca29fbe5e2cb13',
      'chain 11155111 settlement 0x9008d19f58aabd9ed0d60971565aa8510560ab41',
      'chain 31337 settlement 0x9008d19f58aabd9ed0d60971565aa8510560ab41',
    ]);

    const order = await signOrder(account(1), { validTo: Math.floor(Date.now() / 1000) + 600 });
    const headers = { 'content-type': 'application/json' };
    const posted = await fetch(`${url}/sepolia/api/v1/orders`, {
      method: 'POST',
      headers,
      body: JSON.stringify(order),
    });
    const uid = (await posted.json()) as string;
    const found = await Promise.all(
      ['/mainnet', '/sepolia', ''].map((path) => get(`${url}${path}/api/v1/orders/${uid}`)),
    );
    expect(found.map(({ status }) => status)).toEqual([404, 200, 404]);

    expect((await get(url)).json()).toMatchObject({
      name: 'intentbook',
      chainId: 31337,
      books: [
        { path: '/mainnet', chain: 'mainnet', environment: 'production', chainId: 1, api: '/mainnet/api/v1' },
        { path: '/staging/mainnet', environment: 'staging', api: '/staging/mainnet/api/v1' },
        { path: '/sepolia', chainId: 11155111 },
        { path: '/', chainId: 31337, api: '/api/v1' },
      ],
    });
    expect((await get(`${url}/mainnet/`)).json()).toMatchObject({ chainId: 1 });
    expect((await get(`${url}/ready`)).json()).toMatchObject({
      ready: true,
      checks: { '/mainnet store': 'ok', '/staging/mainnet store': 'ok', '/sepolia store': 'ok', store: 'ok' },
    });
    await server.deployments[2]?.book.close();
    expect(await get(`${url}/ready`)).toMatchObject({ status: 200 });
    expect(await get(`${url}/ready?all`)).toMatchObject({ status: 500 });
    expect((await get(`${url}/ready?all`)).json()).toMatchObject({
      ready: false,
      checks: { '/sepolia store': 'Closed' },
    });
    expect(await get(`${url}/live`)).toMatchObject({ status: 200 });
    await server.close();
  });

  test('responds in the usual format outside of its books', async () => {
    const server = await serve({ port: 0, books: [{ chain: 'base', store: memoryStore() }] });
    const send = (method: string, path: string) => fetch(server.url + path, { method });
    const missing = await send('GET', '/sepolia/api/v1/orders');
    expect(missing.status).toBe(404);
    expect(missing.headers.get('access-control-allow-origin')).toBe('*');
    expect(missing.headers.get('cache-control')).toBe('no-store');
    expect(await missing.json()).toMatchObject({ errorType: 'NotFound', data: { served: ['/base'] } });
    const wrong = await send('POST', '/ready');
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    const head = await send('HEAD', '/');
    expect([head.status, await head.text()]).toEqual([200, '']);
    for (const path of ['/', '/nowhere', '/base/api/v1/orders']) expect((await send('OPTIONS', path)).status).toBe(204);
    await server.close();
  });

  test('charges the pages of the API reference to the client by their size', async () => {
    const rateLimit = { reads: 1, writes: 1, streams: 1 }; // a burst of five
    const server = await serve({ port: 0, accounts: 'off', store: memoryStore(), rateLimit });
    const responses: Response[] = [];
    for (let i = 0; i < 4; i++) responses.push(await fetch(`${server.url}/openapi.json`));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 429, 429]);
    const texts = await Promise.all(responses.slice(0, 2).map((response) => response.text()));
    expect(texts[0]).toBe(texts[1]);
    expect(await responses[2]?.json()).toMatchObject({ errorType: 'RateLimited' });
    expect(Number(responses[2]?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect((await fetch(`${server.url}/live`)).status).toBe(200);
    await server.close();
  });

  test.each(['/', '/docs', '/openapi.json', '/explorer', '/explorer/app.js', '/base/api/v1/version'])(
    'responds to HEAD of %s with the length of the body',
    async (path) => {
      const server = await serve({ port: 0, books: [{ chain: 'base', store: memoryStore() }] });
      const headers = { accept: 'text/html' };
      const lengthOf = async (method: string) => {
        const response = await fetch(server.url + path, { method, headers });
        return { length: response.headers.get('content-length'), text: await response.text() };
      };
      const { length, text } = await lengthOf('GET');
      expect(length).toBe(String(Buffer.byteLength(text)));
      expect(await lengthOf('HEAD')).toEqual({ length, text: '' });
      await server.close();
    },
  );

  test('closes the other stores when one cannot be opened', async () => {
    const store = memoryStore();
    const db = join(await scratch(), 'missing', 'x.sqlite');
    await expect(
      serve({
        port: 0,
        books: [
          { chain: 'base', store },
          { chain: 'ink', db },
        ],
      }),
    ).rejects.toThrow(db);
    await expect(store.check()).rejects.toMatchObject({ code: 'Closed' });
  });

  test.each([
    [
      '/ink',
      {
        books: [
          { chain: 'base', store: memoryStore() },
          { chain: 'ink', postgres: 'postgres://127.0.0.1:1/a' },
        ],
      },
    ],
    ['accounts', { books: [{ chain: 'base', store: memoryStore() }], accounts: 'postgres://127.0.0.1:1/a' }],
  ])('names the part that cannot be opened: %s', async (name, options) => {
    await expect(serve({ port: 0, ...options })).rejects.toMatchObject({
      code: 'Unavailable',
      message: `${name}: the PostgreSQL store cannot open: the server cannot be reached (ECONNREFUSED)`,
    });
  });
});

describe('intentbook serve --config', () => {
  async function written(value: unknown): Promise<{ cwd: string; file: string }> {
    const cwd = await scratch();
    const file = join(cwd, 'intentbook.json');
    writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
    return { cwd, file };
  }

  test('serves the configuration of the file, relative to the file, on the port of the flag', async () => {
    const token = '0x00000000000000000000000000000000000000aa';
    const { cwd, file } = await written({
      $schema: './node_modules/intentbook/dist/config.schema.json',
      port: 1,
      books: [{ chain: 'mainnet' }, { chain: 'base', db: ':memory:', prices: { [token]: '2.5' } }],
    });
    const server = intentbook(['serve', '--config', file, '--port', '0']);
    const url = await addressOf(server);
    await server.printed(/book +http:\S+\/mainnet\n +chain +mainnet \(1\), .*\n +database .*mainnet\.sqlite\n/);
    expect(readFileSync(join(cwd, 'mainnet.sqlite')).length).toBeGreaterThan(0);
    const price = await fetch(`${url}/base/api/v1/token/${token}/native_price`);
    expect(await price.json()).toEqual({ price: 2.5 });
  });

  test.each([
    [
      '{"books": [{"chain": "goerli"}], "prot": 1}',
      /books\[0\]\.chain must be one of .*\n {2}unknown key "prot", did you/,
    ],
    ['{ books }', /the file is not JSON: /],
    ['[]', /the file must be a JSON object/],
    ['{"chain": "base"}', /books is missing/],
  ])('exits with 2 for %s', async (text, message) => {
    const { file } = await written(text);
    const ended = await intentbook(['serve', '--config', file]).ended;
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain(`intentbook: ${file} is invalid:`);
    expect(ended.stderr).toMatch(message);
  });

  test('exits with 2 for a missing file', async () => {
    const ended = await intentbook(['serve', '--config', 'nowhere.json'], { cwd: await scratch() }).ended;
    expect(ended).toMatchObject({ code: 2 });
    expect(ended.stderr).toContain('there is no such file');
  });
});
