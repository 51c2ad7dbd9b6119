import * as z from 'zod';
import { BOOK_SETTINGS, COMMON_SETTINGS } from './book-settings.ts';
import { SERVER_SETTINGS } from './server-settings.ts';
import { describeSetting, type Setting, type SettingTable, toPlainText } from './setting.ts';

type SchemaOf<T> = T extends { readonly type: { readonly schema: infer S extends z.ZodType } } ? S : never;

/** The members of an object whose settings are optional and have no default yet. */
type GivenShape<T extends SettingTable> = { -readonly [K in keyof T]: z.ZodOptional<SchemaOf<T[K]>> };

/** The members of an object in which absent settings have their default. */
type FullShape<T extends SettingTable> = {
  -readonly [K in keyof T]: T[K] extends { readonly default: unknown }
    ? z.ZodDefault<SchemaOf<T[K]>>
    : z.ZodOptional<SchemaOf<T[K]>>;
};

function describe(setting: Setting): z.ZodType {
  return setting.type.schema.describe(toPlainText(describeSetting(setting)));
}

function givenShape<T extends SettingTable>(table: T): GivenShape<T> {
  const entries = Object.entries(table).map(([key, setting]) => {
    const schema = describe(setting).optional();
    const { default: initial } = setting;
    return [key, initial === undefined ? schema : schema.meta({ default: initial })];
  });
  return Object.fromEntries(entries) as GivenShape<T>; // the keys and schemas of the table
}

function fullShape<T extends SettingTable>(table: T): FullShape<T> {
  const entries = Object.entries(table).map(([key, setting]) => {
    const schema = describe(setting);
    return [key, setting.default === undefined ? schema.optional() : schema.default(setting.default)];
  });
  return Object.fromEntries(entries) as FullShape<T>; // the keys and schemas of the table
}

const NO_OBJECT = { error: 'must be an object' };
const COMMON = givenShape(COMMON_SETTINGS);
const GIVEN_BOOK = z.strictObject({ ...givenShape(BOOK_SETTINGS), ...COMMON }, NO_OBJECT);
const FULL_BOOK = z.strictObject({ ...fullShape(BOOK_SETTINGS), ...fullShape(COMMON_SETTINGS) });

const SETTINGS = z.strictObject(
  {
    $schema: z.string().describe('Used by editors.').optional(),
    ...fullShape(SERVER_SETTINGS),
    defaults: z
      .strictObject(COMMON, NO_OBJECT)
      .describe('Settings of all books that do not override them.')
      .default({}),
    books: z
      .array(GIVEN_BOOK, { error: 'must be a list of books' })
      .min(1, { error: 'must name one book at least' })
      .describe('The books.'),
  },
  NO_OBJECT,
);

export const BOOK_KEYS: readonly string[] = [...Object.keys(BOOK_SETTINGS), ...Object.keys(COMMON_SETTINGS)];

/** Settings of a book, in a configuration file and for `serve`. */
export type BookSettings = z.input<typeof GIVEN_BOOK>;
/** The content of a configuration file. */
export type ServerSettings = z.input<typeof SETTINGS>;
/** Parsed settings, with defaults. The settings of a book have no defaults yet. */
export type ParsedSettings = z.output<typeof SETTINGS>;
/** Settings of a book as they were given. */
export type GivenBook = ParsedSettings['books'][number];
/** Settings of a book, with defaults. */
export type ParsedBookSettings = z.output<typeof FULL_BOOK>;

/** Parses settings. Rules that concern several settings are checked later, in `planServer`. */
export function parseSettings(value: unknown): z.ZodSafeParseResult<ParsedSettings> {
  return SETTINGS.safeParse(value);
}

/** Settings that belong to the server which another setting names. */
const PARTS = {
  postgres: ['postgresRead', 'postgresPooler'],
  upstream: ['upstreamFallbacks', 'upstreamKeyFile', 'upstreamHeaderFile'],
} as const;

/**
 * Completes the settings of a book: its own ones, those of all books, and the defaults. A book with its own server does
 * not use the replica, the fallbacks and the keys of the default one.
 */
export function completeBook(book: GivenBook, defaults: ParsedSettings['defaults']): ParsedBookSettings {
  const shared = { ...defaults };
  for (const key of ['postgres', 'upstream'] as const) {
    if (book[key] !== undefined && defaults[key] !== undefined) for (const part of PARTS[key]) delete shared[part];
  }
  return FULL_BOOK.parse({ ...shared, ...book });
}

let cachedSchema: object | undefined;

/** Returns the JSON schema of a configuration file (draft 2020-12). */
export function configSchema(): object {
  cachedSchema ??= createSchema();
  return cachedSchema;
}

function createSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(SETTINGS, { io: 'input' });
  return { $schema, title: 'The configuration of intentbook serve', ...schema };
}
