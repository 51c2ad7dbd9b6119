import { createApi, createOrderBook, tokenBuckets } from 'intentbook';
import { composeApis, createAccountApi, createAccounts } from 'intentbook/accounts';
import { createClient } from 'intentbook/client';
import { driverEstimator, httpDriver } from 'intentbook/drivers';
import { httpSolver } from 'intentbook/estimators';
import { createExplorer } from 'intentbook/explorer';
import { expressRouter } from 'intentbook/express';
import { fastifyPlugin } from 'intentbook/fastify';
import { fetchHandler } from 'intentbook/fetch';
import { ipfsGateway } from 'intentbook/ipfs';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { natsPublisher } from 'intentbook/nats';
import { nodeHandler } from 'intentbook/node-http';
import { beginPostgresLogEpoch, migratePostgres, postgresAccountStore, postgresStore } from 'intentbook/postgres';
import { alchemyTokenBalances, coinGecko, coinGeckoHistory, jsonPools, jsonTokenHolders } from 'intentbook/prices';
import { serve } from 'intentbook/server';
import { tenderlySimulator } from 'intentbook/simulators';
import { createDriver, createReferenceEngine, createSolver } from 'intentbook/solver';
import { backupSqlite } from 'intentbook/sqlite';
import { accountStoreConformance, storeConformance } from 'intentbook/testing';
import { orderBookUpstream } from 'intentbook/upstream';
import {
  sanctionsOracle,
  uniswapV2Pools,
  viemChain,
  viemOrderSimulator,
  viemQuoteVerifier,
  viemSimulator,
  viemSource,
} from 'intentbook/viem';
import { describe, expect, test } from 'vitest';

/** Calls a function without the protection of its types, as a program in JavaScript does. */
const calling = (create: (...args: never[]) => unknown, ...args: unknown[]) => {
  return () => create(...(args as never[]));
};

const URL = 'http://127.0.0.1:9';
const ADDRESS = '0xfff9976782d46cc05630d1f6ebab18b2324d6b14';

describe('client of viem', () => {
  test.each([
    [viemChain],
    [viemSource],
    [viemSimulator],
    [viemOrderSimulator],
    [viemQuoteVerifier],
    [sanctionsOracle],
    [uniswapV2Pools],
  ])('is required by %o', (create) => {
    const message = `${create.name}: client must be a PublicClient of viem, got `;
    // The URL of a node often contains a key.
    expect(calling(create, 'https://node.example/key', {})).toThrow(new TypeError(`${message}a string`));
    expect(calling(create, undefined, {})).toThrow(new TypeError(`${message}undefined`));
  });
});

describe('options of viem adapters', () => {
  const client = { request: async () => '0x1' };

  test.each([
    [viemChain, { settlementContract: '0x12' }, 'settlementContract must be 0x and 40 hex digits, got "0x12"'],
    [viemChain, { signatureGas: Number.NaN }, 'signatureGas must be an integer from 1 up, got NaN'],
    [viemChain, { signatureGas: '2000000' }, 'signatureGas must be an integer from 1 up, got "2000000"'],
    [viemSource, { name: 5 }, 'name must be a text, got 5'],
    [viemSimulator, { wrappedNative: 'WETH' }, 'wrappedNative must be 0x and 40 hex digits, got "WETH"'],
    [viemSimulator, { stateDiff: 'false' }, 'stateDiff must be a boolean, got false'],
  ])('are checked by %o (%#)', (create, options, message) => {
    expect(calling(create, client, options)).toThrow(new TypeError(`${create.name}: ${message}`));
  });
});

describe('prefix of a mount', () => {
  const api = { handle: async () => ({ status: 204, headers: {} }) };

  test.each([nodeHandler, fetchHandler])('must be a path in %o', (create) => {
    const message = `${create.name}: prefix must be a path, got `;
    for (const [prefix, text] of [
      ['sepolia', '"sepolia"'],
      [5, '5'],
      [['/sepolia'], 'an array'],
      [null, 'null'],
      // Clients send another path for each of these.
      ['/a/../b', '"/a/../b"'],
      ['/./a', '"/./a"'],
      ['/a?b', '"/a?b"'],
      ['/a#b', '"/a#b"'],
      ['/a b', '"/a b"'],
      ['/ö', '"/ö"'],
    ] as const) {
      expect(calling(create, api, { prefix })).toThrow(new TypeError(message + text));
    }
    for (const prefix of [undefined, '', '/', '/sepolia/']) expect(calling(create, api, { prefix })).not.toThrow();
  });
});

describe('interfaces at one path', () => {
  const book = createOrderBook({ chainId: 1, store: memoryStore() });
  const [api, accounts, explorer] = [
    createApi(book),
    createAccountApi(undefined),
    createExplorer({ books: [{ book }] }),
  ];

  test.each([
    ['/api', [api, createApi(book)]],
    ['/api', [composeApis(accounts, api), createApi(book)]],
    ['/accounts', [accounts, createAccountApi(undefined), api]],
    ['/explorer', [explorer, createExplorer({ books: [{ book }] }), api]],
  ])('are refused: two of %s', (path, [first, ...others]) => {
    const message = `composeApis: two interfaces have the path ${path}; mount each one with its own prefix`;
    expect(() => composeApis(first ?? api, ...others)).toThrow(new TypeError(message));
  });

  test('are accepted: one of each kind, and one that takes all other paths', () => {
    expect(() => composeApis(explorer, accounts, api, { handle: api.handle })).not.toThrow();
  });

  test('are no books', () => {
    expect(calling(composeApis, accounts, book)).toThrow(
      'composeApis: interface must be an object with handle(), got ',
    );
  });

  test.each([
    [[{ book }, { book }]],
    [[{ book }, { book, path: '/' }]],
    [
      [
        { book, path: '/x' },
        { book, path: '/x/' },
      ],
    ],
  ])('are refused by the explorer (%#)', (books) => {
    expect(() => createExplorer({ books })).toThrow(new TypeError('books must have different paths'));
  });
});

describe('options of PostgreSQL', () => {
  test.each([[postgresStore], [postgresAccountStore]])('are required by %o', (create) => {
    const message = `${create.name}: options must be { url: "postgres://…" } or a pool of pg, got `;
    // A connection string contains a password.
    expect(calling(create, 'postgres://user:secret@db/books')).toThrow(new TypeError(`${message}string`));
    expect(calling(create)).toThrow(new TypeError(`${message}undefined`));
    expect(calling(create, {})).toThrow(new TypeError(`${create.name}: \`url\` must be a connection string`));
    expect(calling(create, { url: 'postgres://x', schema: 'pg_x' })).toThrow(
      `${create.name}: \`schema\` must be letters`,
    );
  });

  test.each([[migratePostgres], [beginPostgresLogEpoch]])('are required by %o', async (run) => {
    await expect(run({} as never)).rejects.toThrow(new TypeError(`${run.name}: \`url\` must be a connection string`));
    const options = { url: 'postgres://x', of: 'orders' } as never;
    await expect(run(options)).rejects.toThrow(`${run.name}: \`of\` must be "book" or "accounts", got "orders"`);
  });
});

describe('book', () => {
  const plugin = (book: never) => fastifyPlugin({} as never, { book }, () => {});

  test.each([
    ['createApi', createApi],
    ['nodeHandler', nodeHandler],
    ['expressRouter', expressRouter],
    ['fetchHandler', fetchHandler],
    ['fastifyPlugin', plugin],
  ])('is required by %s', (_, create) => {
    const message = 'createApi: book must be an order book, got ';
    expect(calling(create)).toThrow(new TypeError(`${message}undefined`));
    expect(calling(create, '/sepolia')).toThrow(new TypeError(`${message}"/sepolia"`));
    const book = createOrderBook({ chainId: 1, store: memoryStore() });
    expect(calling(create, Promise.resolve(book))).toThrow(new TypeError(`${message}an object`));
  });
});

test('a book or a store in the place of an account interface or a book is rejected', () => {
  const book = createOrderBook({ chainId: 1, store: memoryStore() });
  const message = 'createAccountApi: accounts.subscriptions must be an object with create(), got undefined';
  expect(calling(createAccountApi, book)).toThrow(new TypeError(message));
  expect(calling(createApi, memoryStore())).toThrow('createApi: book must be an order book, got an object');
});

describe('limiter', () => {
  const accountApi = (options: object) => createAccountApi(undefined, options);
  const bookApi = (options: object) => createApi(createOrderBook({ chainId: 1, store: memoryStore() }), options);

  test.each([
    ['createApi', bookApi],
    ['createAccountApi', accountApi],
  ])('is checked by %s', (name, create) => {
    const message = `${name}: limiter must be an object with take(), open(), got `;
    expect(calling(create, { limiter: {} })).toThrow(new TypeError(`${message}an object`));
    expect(calling(create, { limiter: tokenBuckets })).toThrow(new TypeError(`${message}a function`));
    expect(calling(create, { limiter: tokenBuckets() })).not.toThrow();
  });
});

describe('option that is a function', () => {
  const book = () => createOrderBook({ chainId: 1, store: memoryStore() });
  const auctions = { current: async () => ({}) };
  const driver = {
    engine: { solve: async () => [] },
    settler: { simulate: async () => undefined, submit: async () => ({}) },
  };
  const log = { last() {}, after() {}, watch() {} };
  const liquidity = { read: async () => ({}) };

  test.each<[option: string, create: (options: object) => unknown]>([
    ['beforeSubmit', (options) => createApi(book(), options)],
    ['identifyClient', (options) => createApi(book(), options)],
    ['identifyClient', (options) => createAccountApi(undefined, options)],
    ['remoteAddress', (options) => fetchHandler(book(), options)],
    ['onFailure', (options) => createAccounts({ books: [], store: memoryAccountStore(), ...options })],
    ['onFailure', (options) => natsPublisher({ log, jetstream: () => {}, stream: 'orders', ...options } as never)],
    ['onFailure', (options) => createDriver({ ...driver, ...options } as never)],
    ['onFailure', (options) => createSolver({ auctions, ...driver, ...options } as never)],
    ['onResult', (options) => createSolver({ auctions, ...driver, ...options } as never)],
    ['isDenied', (options) => createOrderBook({ chainId: 1, store: memoryStore(), ...options })],
    ['fetch', (options) => createClient('http://localhost', options)],
    ['fetch', (options) => ipfsGateway(URL, options)],
    ['fetch', (options) => httpSolver(URL, options)],
    ['fetch', (options) => httpDriver(URL, options)],
    ['fetch', (options) => driverEstimator(URL, options)],
    ['now', (options) => driverEstimator(URL, options)],
    ['fetch', (options) => orderBookUpstream({ url: URL, ...options })],
    ['fetch', (options) => coinGecko(options)],
    ['fetch', (options) => coinGeckoHistory(options)],
    ['fetch', (options) => jsonPools({ url: URL, ...options })],
    ['fetch', (options) => jsonTokenHolders({ urls: { 1: `${URL}/{token}` }, ...options })],
    ['fetch', (options) => alchemyTokenBalances({ urls: { 1: URL }, ...options })],
    ['fetch', (options) => tenderlySimulator({ chainId: 1, apiKey: 'k', account: 'a', project: 'p', ...options })],
    ['now', (options) => sanctionsOracle({ request: async () => '0x1' } as never, ADDRESS, options)],
    ['getFunds', (options) => createReferenceEngine({ liquidity, wrappedNative: ADDRESS, ...options } as never)],
  ])('%s is checked when it is given (%#)', (option, create) => {
    for (const value of [true, null, {}, 'log']) {
      expect(() => create({ [option]: value })).toThrow(`${option} must be a function, got `);
    }
    expect(() => create({ [option]: () => {} })).not.toThrow();
  });
});

describe('hook', () => {
  const serveOne = (options: object) => serve({ port: 0, books: [{ chain: 'sepolia', db: ':memory:' }], ...options });

  test.each(['onExchange', 'onOperatorAction', 'onFailure', 'onChainChange', 'onNotice', 'onLost'])(
    '%s of a server is checked when it is given',
    async (hook) => {
      await expect(serveOne({ [hook]: 'log' })).rejects.toThrow(`serve: ${hook} must be a function, got a string`);
      await (await serveOne({ [hook]: undefined })).close();
    },
  );

  test('onProgress of a backup is checked before a file is read', async () => {
    const options = { from: 'missing.sqlite', to: 'copy.sqlite', onProgress: 'log' } as never;
    await expect(backupSqlite(options)).rejects.toThrow('backupSqlite: onProgress must be a function, got a string');
  });
});

describe('harness of a store', () => {
  test.each([[storeConformance], [accountStoreConformance]])('is required by %o', (create) => {
    const message = `${create.name}: the harness must have the traits of the store and a function create`;
    for (const harness of [undefined, {}, { create: memoryStore }, { traits: memoryStore().traits }]) {
      expect(calling(create, harness)).toThrow(new TypeError(message));
    }
  });
});
