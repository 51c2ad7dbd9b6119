import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The sources of all that can be imported. */
const ENTRIES = [
  'src/index.ts',
  'src/internal.ts',
  'src/http/openapi/index.ts',
  'test/conformance/index.ts',
  ...readdirSync(`${root}adapters`).map((name) => `adapters/${name}/index.ts`),
].map((file) => root + file);

const { options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile).config,
  ts.sys,
  root,
);
const program = ts.createProgram(ENTRIES, { ...options, noEmit: true });
const checker = program.getTypeChecker();

/** What can be imported, each name with what it stands for. */
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

test('every public name says what it is', () => {
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

const readme = readFileSync(`${root}README.md`, 'utf8');

/** The members of a public type. */
function membersOf(name: string): string[] {
  const symbol = exported.get(name);
  if (symbol === undefined) throw new Error(`there is no ${name}`);
  return checker
    .getDeclaredTypeOfSymbol(symbol)
    .getProperties()
    .map((member) => member.name);
}

/** Whether a name stands in the README as code: alone, after its group, or before its arguments. */
const isTold = (name: string) => new RegExp(`\`[^\`\n]*\\b${name}\\b[^\`\n]*\``).test(readme);

test.each([
  'OrderBookOptions',
  'Limits',
  'QuoteOptions',
  'IndexerOptions',
  'StreamLimits',
  'AccountsOptions',
  'AffiliatesOptions',
  'ApiOptions',
  'FetchHandlerOptions',
  'NodeHandlerOptions',
  'TokenBucketsOptions',
  'DeliveryOptions',
  'UsdPricesOptions',
])('the README has every member of %s', (name) => {
  const members = membersOf(name);
  expect(members.length).toBeGreaterThan(0);
  expect(members.filter((member) => !isTold(member))).toEqual([]);
});

test.each([
  ...([
    ['orders', 'Orders'],
    ['quotes', 'Quotes'],
    ['appData', 'Documents'],
    ['chain', 'ChainApi'],
  ] as const),
  ...([
    ['trades', 'Trades'],
    ['auctions', 'AuctionApi'],
  ] as const),
])('the README has every verb of book.%s', (group, name) => {
  expect(membersOf(name).filter((verb) => !isTold(`${group}.${verb}`))).toEqual([]);
});

test('the server’s documentation has every metric, and no other', () => {
  const code = readFileSync(`${root}adapters/server/metrics.ts`, 'utf8');
  const counted = new Set([...code.matchAll(/'(intentbook_\w+)'/g)].map(([, metric]) => metric));
  const told = new Set(
    [...readFileSync(`${root}docs/server.md`, 'utf8').matchAll(/`(intentbook_\w+)`/g)].map(([, metric]) => metric),
  );
  expect(counted.size).toBeGreaterThan(10);
  expect([...told].sort()).toEqual([...counted].sort());
});
