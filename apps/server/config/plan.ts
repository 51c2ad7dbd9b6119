import { resolve } from 'node:path';
import { CHAINS, chainById, chainByName, type Environment } from '#internal';
import { isSocketFile } from '../http/socket-file.ts';
import type { GivenBook, ParsedBookSettings, ParsedSettings } from '../settings/schema.ts';
import { completeBook, configSchema, parseSettings } from '../settings/schema.ts';
import { SERVER_SETTINGS } from '../settings/server-settings.ts';
import type { SettingTable } from '../settings/setting.ts';
import { suggest } from '../settings/suggest.ts';
import { ConfigError, formatProblems } from './config-errors.ts';

/** The pooler in front of PostgreSQL, or its detection. */
export type Pooler = 'detect' | 'transaction' | 'session';

/** The location of a book's store. */
export type StoreLocation =
  | { readonly kind: 'memory' }
  | { readonly kind: 'file'; readonly path: string }
  | {
      readonly kind: 'postgres';
      readonly url: string;
      readonly readUrl: string | undefined;
      readonly schema: string;
      readonly migrate: boolean;
      readonly connections: number;
      readonly pooler: Pooler | undefined;
    };

/** A stream on NATS, which has the events of one book. */
export interface NatsTarget {
  /** URLs of the servers. */
  readonly urls: readonly string[];
  readonly stream: string;
}

/** A planned book: its settings and the values derived from them. */
export interface BookPlan {
  readonly settings: ParsedBookSettings;
  /** The name of its chain, or the chain id. */
  readonly chain: string;
  readonly chainId: number;
  readonly environment: Environment;
  /** `/`, or a path without a trailing slash. */
  readonly path: string;
  readonly place: StoreLocation;
  /** Where its events are published. `undefined`: they are not published. */
  readonly nats: NatsTarget | undefined;
}

export interface ServerPlan {
  readonly settings: ParsedSettings;
  readonly books: readonly BookPlan[];
}

/**
 * Plans a server from its settings.
 *
 * @param folder - Base of relative file names.
 * @throws ConfigError naming every invalid key.
 */
export function planServer(value: unknown, folder: string): ServerPlan {
  const { data: settings, error } = parseSettings(value);
  if (error !== undefined) throw new ConfigError(formatProblems(error, value, configSchema()));
  const problems = [...findIncomplete(settings), ...settings.books.flatMap(contradictions)];
  if (problems.length > 0) throw new ConfigError(problems);
  const books = settings.books.map((book) => planBook(completeBook(book, settings.defaults), book, folder));
  const clashes = [
    ...books.flatMap(findUnknownChain),
    ...books.flatMap(findIneffectiveRules),
    ...books.flatMap((book, i) => findShortLogs(settings, book, i)),
    ...findDuplicate('path', books, ({ path }) => path),
    ...findDuplicate('place', books, ({ place }) => locationKey(place)),
    ...findDuplicate('stream on NATS', books, ({ nats }) => nats?.stream),
    ...findSharedAccounts(settings, books, folder),
  ];
  if (clashes.length > 0) throw new ConfigError(clashes);
  return { settings: { ...settings, host: resolveHost(settings.host, folder) }, books };
}

/** Finds settings that need others which are absent. One problem per absent setting. */
function findIncomplete(settings: ParsedSettings): string[] {
  const table: SettingTable = SERVER_SETTINGS;
  const isGiven = (key: string) => settings[key as keyof ParsedSettings] !== undefined; // a key of the table
  const missing = new Map<string, string>();
  for (const [key, { together = [] }] of Object.entries(table)) {
    if (!isGiven(key)) continue;
    for (const other of together) if (!isGiven(other) && !missing.has(other)) missing.set(other, key);
  }
  // Statistics of another source need no terms.
  if (settings.affiliateStatistics === 'own' && !isGiven('affiliateTerms')) {
    missing.set('affiliateTerms', 'affiliateStatistics');
  }
  return [...missing].map(([key, by]) => `"${key}" is missing: "${by}" requires it`);
}

/** Finds books whose log begins late. Own statistics are computed from its first entry on. */
function findShortLogs({ affiliateStatistics }: ParsedSettings, { settings }: BookPlan, i: number): string[] {
  if (affiliateStatistics !== 'own' || settings.retentionEvents === undefined) return [];
  return [`books[${i}]: "retentionEvents" and "affiliateStatistics": "own" exclude each other`];
}

function contradictions(book: GivenBook, i: number): string[] {
  const both = book.db !== undefined && book.postgres !== undefined;
  return both ? [`books[${i}]: "db" and "postgres" exclude each other`] : [];
}

/** Chain ids of local nodes, which have the contracts at the known addresses if they fork a chain. */
const LOCAL_CHAIN_IDS: readonly number[] = [1337, 31337];

/** Finds a chain without a known deployment, whose orders are signed for another chain id or another contract. */
function findUnknownChain({ settings: { settlementContract }, chainId }: BookPlan, i: number): string[] {
  if (settlementContract !== undefined || chainById(chainId) !== undefined) return [];
  if (LOCAL_CHAIN_IDS.includes(chainId)) return [];
  const known = CHAINS.map((chain) => String(chain.chainId));
  const similar = suggest(String(chainId), known);
  return [
    `books[${i}].chain: the protocol has no known contracts on chain ${chainId}; set "settlementContract"${similar}`,
  ];
}

/** Finds access rules of a book that would not be checked. Without nodes, no contract can be called. */
function findIneffectiveRules({ settings: { sanctionsOracle, rpc } }: BookPlan, i: number): string[] {
  if (sanctionsOracle === undefined || rpc !== undefined) return [];
  return [`books[${i}]: "rpc" is missing: "sanctionsOracle" requires it`];
}

function planBook(settings: ParsedBookSettings, own: GivenBook, folder: string): BookPlan {
  const known = typeof settings.chain === 'number' ? chainById(settings.chain) : chainByName(settings.chain);
  const { environment } = settings;
  const chain = known?.segment ?? String(settings.chain);
  const staging = environment === 'staging';
  const name = `${chain}${staging ? '-staging' : ''}`;
  const natural = known === undefined ? '/' : `${staging ? '/staging' : ''}/${chain}`;
  return {
    chain,
    environment,
    settings: { ...settings, ...resolveFiles(settings, folder) },
    chainId: known?.chainId ?? Number(settings.chain),
    path: settings.path ?? natural,
    place: toStoreLocation(settings, own, name, folder),
    nats: toNatsTarget(settings, name),
  };
}

/** Resolves the path of a socket file. Another address is returned as it is. */
export const resolveHost = (host: string, folder = '.'): string => (isSocketFile(host) ? resolve(folder, host) : host);

/** Resolves the names of files in the settings of a book. */
function resolveFiles(settings: ParsedBookSettings, folder: string) {
  const resolved = <T>(value: T): T | string => (typeof value === 'string' ? resolve(folder, value) : value);
  return {
    prices: settings.prices === 'off' ? 'off' : resolved(settings.prices),
    feePolicies: resolved(settings.feePolicies),
    deniedAddresses: resolved(settings.deniedAddresses),
    deniedTokens: resolved(settings.deniedTokens),
    upstreamKeyFile: resolved(settings.upstreamKeyFile),
    upstreamHeaderFile: resolved(settings.upstreamHeaderFile),
  };
}

function toStoreLocation(settings: ParsedBookSettings, { db }: GivenBook, name: string, folder: string): StoreLocation {
  const { postgres: url, postgresRead: readUrl, postgresPooler: pooler } = settings;
  // The file of a book wins over a shared database.
  if (url !== undefined && db === undefined) {
    const schema = settings.schema ?? `intentbook_${name.replaceAll('-', '_')}`;
    const { migrate, postgresConnections: connections } = settings;
    return { kind: 'postgres', url, readUrl, schema, migrate, connections, pooler };
  }
  return db === ':memory:' ? { kind: 'memory' } : { kind: 'file', path: resolve(folder, db ?? `${name}.sqlite`) };
}

function toNatsTarget({ natsUrl: urls, natsStream }: ParsedBookSettings, name: string): NatsTarget | undefined {
  return urls === undefined ? undefined : { urls, stream: natsStream ?? `intentbook-${name}` };
}

function locationKey(place: StoreLocation): string | undefined {
  switch (place.kind) {
    case 'memory':
      return undefined;
    case 'file':
      return `the file ${place.path}`;
    case 'postgres':
      return `the schema ${place.schema} of ${getAddress(place.url)}`;
  }
}

/** Finds values that two books must not share. */
function findDuplicate(
  what: string,
  books: readonly BookPlan[],
  keyOf: (book: BookPlan) => string | undefined,
): string[] {
  const first = new Map<string, number>();
  return books.flatMap((book, i) => {
    const key = keyOf(book);
    const other = key === undefined ? undefined : first.get(key);
    if (key !== undefined && other === undefined) first.set(key, i);
    return other === undefined ? [] : [`books[${i}] has the same ${what} as books[${other}]: ${key}`];
  });
}

/** Finds a book whose file is also that of the account store, which has other tables. */
function findSharedAccounts({ accounts }: ParsedSettings, books: readonly BookPlan[], folder: string): string[] {
  if (accounts === undefined) return [];
  const file = resolve(folder, accounts);
  const i = books.findIndex(({ place }) => place.kind === 'file' && place.path === file);
  return i < 0 ? [] : [`"accounts" has the same place as books[${i}]: the file ${file}`];
}

/** Returns the address of a database without the secrets of its connection string. */
export function getAddress(url: string): string {
  if (!URL.canParse(url)) return 'PostgreSQL';
  const { host, pathname } = new URL(url);
  return `PostgreSQL at ${host}${pathname}`;
}
