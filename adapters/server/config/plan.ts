import { resolve } from 'node:path';
import type { Environment } from '#internal';
import { chainById, chainBySegment } from '#internal';
import { ConfigError, formatProblems } from './config-errors.ts';
import type { ReadBook, ReadSettings } from './schema.ts';
import { parseSettings, settingsSchema } from './schema.ts';

/** Where a book's orders are kept. */
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
    };

/** Connections to PostgreSQL that all books open together, as long as nobody says otherwise: a server allows 100. */
const CONNECTIONS = 80;

/** A book that is to be served: its settings with all that follows from them. */
export interface BookPlan {
  readonly settings: ReadBook;
  /** The path segment of its chain, or the id of one that has none. */
  readonly chain: string;
  readonly chainId: number;
  readonly environment: Environment;
  /** `/`, or a path without a slash at its end. */
  readonly path: string;
  readonly place: StoreLocation;
}

/** What a server is to do. */
export interface ServerPlan {
  readonly settings: ReadSettings;
  readonly books: readonly BookPlan[];
}

/**
 * Reads the settings of a server.
 *
 * @param folder where relative file names begin.
 * @throws SettingsError naming every key that is wrong.
 */
export function planServer(value: unknown, folder: string): ServerPlan {
  const { data: settings, error } = parseSettings(value);
  if (error !== undefined) throw new ConfigError(formatProblems(error, value, settingsSchema()));
  const problems = [
    ...halves(settings, ['smtp', 'mailFrom', 'publicUrl']),
    ...halves(settings, ['vapidSubject', 'vapidPublicKey', 'vapidPrivateKey']),
    ...settings.books.flatMap(contradictions),
  ];
  if (problems.length > 0) throw new ConfigError(problems);
  const share = Math.max(2, Math.min(10, Math.floor(CONNECTIONS / settings.books.length)));
  const books = settings.books.map((book) => planBook({ ...settings.defaults, ...book }, book, { folder, share }));
  const clashes = [
    ...findDuplicate('path', books, ({ path }) => path),
    ...findDuplicate('place', books, ({ place }) => locationKey(place)),
  ];
  if (clashes.length > 0) throw new ConfigError(clashes);
  return { settings, books };
}

/** Names what is missing where settings mean something together only. `publicUrl` alone is no harm. */
function halves(settings: ReadSettings, keys: readonly (keyof ReadSettings)[]): string[] {
  const given = keys.filter((key) => settings[key] !== undefined);
  if (given.every((key) => key === 'publicUrl') || given.length === keys.length) return [];
  return keys.filter((key) => !given.includes(key)).map((key) => `"${key}" is missing: "${given[0]}" needs it`);
}

function contradictions(book: ReadBook, i: number): string[] {
  const both = book.db !== undefined && book.postgres !== undefined;
  return both ? [`books[${i}]: "db" and "postgres" exclude each other`] : [];
}

/** What a book's plan needs to know besides its settings. */
interface PlanContext {
  /** Where relative file names begin. */
  readonly folder: string;
  /** How many connections to a database a book may open. */
  readonly share: number;
}

function planBook(settings: ReadBook, own: ReadBook, around: PlanContext): BookPlan {
  const known = typeof settings.chain === 'number' ? chainById(settings.chain) : chainBySegment(settings.chain);
  const { environment } = settings;
  const chain = known?.segment ?? String(settings.chain);
  const staging = environment === 'staging';
  const natural = known === undefined ? '/' : `${staging ? '/staging' : ''}/${chain}`;
  const { prices } = settings;
  const file = typeof prices === 'string' && prices !== 'off';
  return {
    chain,
    environment,
    settings: file ? { ...settings, prices: resolve(around.folder, prices) } : settings,
    chainId: known?.chainId ?? Number(settings.chain),
    path: settings.path ?? natural,
    place: toStoreLocation(settings, own, `${chain}${staging ? '-staging' : ''}`, around),
  };
}

function toStoreLocation(
  settings: ReadBook,
  { db }: ReadBook,
  name: string,
  { folder, share }: PlanContext,
): StoreLocation {
  const { postgres: url, postgresRead: readUrl, migrate = false } = settings;
  // A book's own file wins over a database that all share.
  if (url !== undefined && db === undefined) {
    const schema = settings.schema ?? `intentbook_${name.replaceAll('-', '_')}`;
    const connections = settings.postgresConnections ?? share;
    return { kind: 'postgres', url, readUrl, schema, migrate, connections };
  }
  return db === ':memory:' ? { kind: 'memory' } : { kind: 'file', path: resolve(folder, db ?? `${name}.sqlite`) };
}

function locationKey(place: StoreLocation): string | undefined {
  switch (place.kind) {
    case 'memory':
      return undefined;
    case 'file':
      return `the file ${place.path}`;
    case 'postgres':
      return `the schema ${place.schema} of ${addressOf(place.url)}`;
  }
}

/** Names every value that two books have in common and must not. */
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

/** Where a database is, without the secrets of its connection string. */
export function addressOf(url: string): string {
  if (!URL.canParse(url)) return 'PostgreSQL';
  const { host, pathname } = new URL(url);
  return `PostgreSQL at ${host}${pathname}`;
}
