import { readdirSync } from 'node:fs';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { checkTable } from './docs-check-table.ts';
import { codeIn, readPage, root, type Table, tablesOf } from './docs-pages.ts';

const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);

/** Source files of the entry points: the paths of tsconfig.json, the adapters and the programs. */
const ENTRIES = [
  ...Object.entries(options.paths ?? {}).flatMap(([name, [file = '']]) =>
    name.startsWith('intentbook') && !name.includes('*') ? [file.replace('./', '')] : [],
  ),
  ...['adapters', 'apps'].flatMap((folder) =>
    readdirSync(`${root}${folder}`)
      .filter((name) => name !== 'cli')
      .map((name) => `${folder}/${name}/index.ts`),
  ),
].map((file) => root + file);

const program = ts.createProgram(ENTRIES, { ...options, noEmit: true });
const checker = program.getTypeChecker();

/** Public names with their symbols. */
const exported = new Map(
  ENTRIES.flatMap((entry) => {
    const file = program.getSourceFile(entry);
    const symbol = file && checker.getSymbolAtLocation(file);
    return symbol === undefined ? [] : checker.getExportsOfModule(symbol);
  }).map((symbol) => {
    const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
    return [symbol.name, isAlias ? checker.getAliasedSymbol(symbol) : symbol];
  }),
);

/** Returns the declared type of a public name. */
function typeOf(name: string): ts.Type {
  const symbol = exported.get(name);
  if (symbol === undefined) throw new Error(`${name} must be exported`);
  return checker.getDeclaredTypeOfSymbol(symbol);
}

/** Returns the members of public types. */
function membersOf(...names: readonly string[]): string[] {
  const members = names.flatMap((name) => checker.getPropertiesOfType(typeOf(name)).map((member) => member.name));
  expect(members.length, names.join()).toBeGreaterThan(0);
  return [...new Set(members)].sort();
}

test('every public name has a doc comment', () => {
  const ours = [...exported.values()].filter(({ declarations }) => {
    const where = declarations?.[0]?.getSourceFile().fileName ?? '';
    return where.startsWith(root) && !where.includes('node_modules');
  });
  const silent = ours.filter(
    (symbol) => ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim() === '',
  );
  expect(ours.length).toBeGreaterThan(200);
  expect(silent.map(({ name }) => name)).toEqual([]);
});

/** Returns the names in the first cells of a table. */
function namesIn({ rows }: Table): string[] {
  return rows.flatMap(([cell = '']) => codeIn(cell)).sort();
}

describe('options page', () => {
  const tables = tablesOf(readPage('docs/reference/options.md').text);

  test.each([
    ['createOrderBook', ['OrderBookOptions']],
    ['Limits', ['Limits']],
    ['Quotes', ['QuoteOptions']],
    ['Indexer', ['IndexerOptions']],
    ['Streams', ['StreamLimits']],
    ['createAccounts', ['AccountsOptions']],
    ['Deliveries', ['DeliveryOptions']],
    ['Affiliates', ['AffiliatesOptions']],
    ['USD prices', ['UsdPricesOptions']],
    ['Slippage', ['SlippageOptions']],
    ['createApi', ['ApiOptions']],
    ['tokenBuckets', ['TokenBucketsOptions']],
    ['nodeHandler, fetchHandler, fastifyPlugin', ['NodeHandlerOptions', 'FetchHandlerOptions', 'FastifyPluginOptions']],
    ['sqliteStore', ['SqliteStoreOptions', 'SqliteHandleOptions']],
    ['postgresStore', ['PostgresUrlOptions', 'PostgresPoolOptions']],
    ['createVerifier', ['VerifierOptions']],
    ['recoveryPool', ['RecoveryPoolOptions']],
    ['createSandbox', ['SandboxOptions']],
  ])('lists every option of %s and no other', (heading, types) => {
    const table = tables.find((each) => each.heading === heading);
    expect(table === undefined ? [] : namesIn(table)).toEqual(membersOf(...types));
  });
});

/** Folders whose factories have their options in one table. */
const FACTORY_FOLDERS = ['channels', 'drivers', 'estimators', 'ipfs', 'nats', 'prices', 'upstream', 'viem', 'solver'];

/** Returns rows of factory, option and description, from the types of parameters and their doc comments. */
function listFactoryOptions(): string[][] {
  return [...exported.values()].flatMap((symbol) => {
    const file = symbol.declarations?.[0]?.getSourceFile().fileName ?? '';
    const folder = /\/(?:adapters|apps)\/(\w+)\/[^/]+$/.exec(file)?.[1] ?? '';
    if (!FACTORY_FOLDERS.includes(folder) || (symbol.flags & ts.SymbolFlags.Function) === 0) return [];
    const [signature] = checker.getTypeOfSymbol(symbol).getCallSignatures();
    const types = signature?.parameters.map((each) => checker.getNonNullableType(checker.getTypeOfSymbol(each))) ?? [];
    return types
      .filter((type) => /Options$/.test((type.aliasSymbol ?? type.symbol)?.name ?? ''))
      .flatMap((type) => checker.getPropertiesOfType(type))
      .map((option) => {
        const text = ts.displayPartsToString(option.getDocumentationComment(checker));
        return [`\`${symbol.name}\``, `\`${option.name}\``, text.replace(/\s+/g, ' ').replaceAll('|', '\\|')];
      });
  });
}

test('options page lists every option of channels, drivers, estimators, sources and the solver', () => {
  const path = 'docs/reference/options.md';
  const header = ['function', 'option', 'description'];
  const rows = listFactoryOptions();
  checkTable(path, 'factories', header, rows, { exact: true, least: 60 });
  expect(rows.filter(([, , description]) => description === '')).toEqual([]);
});

test.each([
  ['docs/guides/quotes.md', 'option of `quotes`', 'QuoteOptions'],
  ['docs/guides/chain-indexing.md', 'option of `indexer`', 'IndexerOptions'],
  ['docs/guides/events-and-streams.md', 'option of `streams`', 'StreamLimits'],
  ['docs/guides/upstream.md', 'option of `orderBookUpstream`', 'OrderBookUpstreamOptions'],
])('%s lists every %s', (path, header, type) => {
  const table = tablesOf(readPage(path).text).find((each) => each.header[0] === header);
  expect(table === undefined ? [] : namesIn(table)).toEqual(membersOf(type));
});

test('validation guide names only options that exist', () => {
  const table = tablesOf(readPage('docs/guides/validation.md').text).find(({ heading }) => heading === 'Options');
  const known = [...membersOf('OrderBookOptions'), ...membersOf('Limits').map((name) => `limits.${name}`)];
  const names = table === undefined ? [] : namesIn(table);
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => !known.includes(name))).toEqual([]);
});

test.each([
  ['orders', 'OrderApi', 'docs/guides/orders.md'],
  ['appData', 'AppDataApi', 'docs/guides/orders.md'],
  ['trades', 'TradeApi', 'docs/guides/orders.md'],
  ['quotes', 'QuoteApi', 'docs/guides/quotes.md'],
  ['chain', 'ChainApi', 'docs/guides/chain-indexing.md'],
  ['auctions', 'AuctionApi', 'docs/guides/auctions.md'],
  ['log', 'EventLog', 'docs/guides/events-and-streams.md'],
])('guide lists every method of book.%s', (group, type, path) => {
  const documented = new Set(tablesOf(readPage(path).text).flatMap(namesIn));
  expect(membersOf(type).filter((method) => !documented.has(`${group}.${method}`))).toEqual([]);
});

test.each([
  ['notifications', 'NotificationApi', 'docs/guides/notifications.md'],
  ['subscriptions', 'SubscriptionApi', 'docs/guides/notifications.md'],
  ['deliveries', 'DeliveryApi', 'docs/guides/notifications.md'],
  ['affiliates', 'AffiliateApi', 'docs/guides/affiliates-and-prices.md'],
  ['usdPrices', 'UsdPriceApi', 'docs/guides/affiliates-and-prices.md'],
  ['balances', 'AccountBalances', 'docs/guides/affiliates-and-prices.md'],
  ['history', 'HistoryApi', 'docs/guides/history-and-export.md'],
  ['tokens', 'TokenApi', 'docs/guides/market-data.md'],
  ['pools', 'PoolApi', 'docs/guides/market-data.md'],
  ['simulation', 'SimulationApi', 'docs/guides/market-data.md'],
  ['slippage', 'SlippageApi', 'docs/guides/market-data.md'],
])('guide lists every method of accounts.%s', (group, type, path) => {
  const documented = new Set(tablesOf(readPage(path).text).flatMap(namesIn));
  expect(membersOf(type).filter((method) => !documented.has(`${group}.${method}`))).toEqual([]);
});

test('errors page lists every public error class', () => {
  const table = tablesOf(readPage('docs/reference/errors.md').text).find(({ heading }) => heading === 'Error classes');
  const classes = [...exported].filter(
    ([, symbol]) =>
      (symbol.flags & ts.SymbolFlags.Class) !== 0 &&
      checker.getPropertyOfType(checker.getDeclaredTypeOfSymbol(symbol), 'stack') !== undefined,
  );
  expect(classes.length).toBeGreaterThan(5);
  const documented = table === undefined ? [] : namesIn(table);
  expect(classes.map(([name]) => name).filter((name) => !documented.includes(name))).toEqual([]);
});

test('events page lists every event and no other', () => {
  const tables = tablesOf(readPage('docs/reference/events.md').text).filter(({ header }) => header[0] === 'event');
  expect(tables.flatMap(namesIn).sort()).toEqual(membersOf('OrderBookEvents'));
});

test('errors page lists every code of a store error and no other', () => {
  const type = typeOf('StoreErrorCode');
  const codes = type.isUnion() ? type.types.map((each) => (each.isStringLiteral() ? each.value : '')) : [];
  const table = tablesOf(readPage('docs/reference/errors.md').text).find(({ heading }) => heading === 'Store errors');
  expect(codes.length).toBeGreaterThan(5);
  expect(table === undefined ? [] : namesIn(table)).toEqual(codes.sort());
});
