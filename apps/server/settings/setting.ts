import type * as z from 'zod';

/** Headings of the help, in its order. */
export const GROUPS = [
  'Server',
  'Logs and metrics',
  'Book',
  'Store',
  'Orders',
  'Chain',
  'Quotes',
  'Upstream',
  'Streams',
  'Accounts',
  'Notifications',
  'Prices in US dollars',
  'Command',
] as const;
/** A heading of the help. */
export type Group = (typeof GROUPS)[number];

/** The type of a setting: the schema of its value in JSON, and the parser of its text. */
export interface SettingType<S extends z.ZodType = z.ZodType> {
  readonly schema: S;
  /** Placeholder of the value in the help: `<number>`. */
  readonly value: string;
  /** Describes valid texts: `<name> must be <expected>`. */
  readonly expected: string;
  /** Converts the text of a flag or variable to a value for the schema. `undefined` if that is impossible. */
  fromText(text: string): unknown;
  /** Formats a value as it is typed on the command line. Default: its JSON without quotes. */
  toText?(value: never): string;
  /** The valid texts, or the common ones, for suggestions and completion. */
  readonly names?: readonly string[];
  /** Whether the flag may have no value; then its text is `on`. */
  readonly alone?: boolean;
  /** The members of an object, each with its own flag in the group of the object. */
  readonly parts?: Readonly<Record<string, Ungrouped>>;
  /** Whether each member of the object is optional. */
  readonly partial?: boolean;
}

/**
 * A setting. The flag `--max-open-orders` and the variable `INTENTBOOK_MAX_OPEN_ORDERS` derive from the key
 * `maxOpenOrders`.
 */
export interface Setting extends Ungrouped {
  readonly group: Group;
}

/** A setting without its heading. */
export interface Ungrouped {
  readonly type: SettingType;
  /** One or more sentences. Code is between backticks. */
  readonly help: string;
  readonly default?: unknown;
  /** The default in words, if it is not a constant. */
  readonly defaultText?: string;
  /** Default of a server without a configuration file, if it differs. */
  readonly single?: string;
  /** Whether messages must not repeat the value. The value can also be read from a file. */
  readonly secret?: true;
  /** Whether an empty variable is an error. Its absence would select another store, or disable a check. */
  readonly notEmpty?: true;
  /** Name of the flag, if it does not derive from the key. `null`: the setting has no flag. */
  readonly flag?: string | null;
  /** Name of the variable, if it does not derive from the flag. */
  readonly variable?: string;
  /** The optional packages that the setting needs. */
  readonly packages?: readonly string[];
  /** The setting without which this one has no effect. */
  readonly requires?: string;
  /** The settings that must be given together with this one. */
  readonly together?: readonly string[];
  /** Whether the short help shows the flag. */
  readonly common?: true;
}

/** Settings by key. */
export type SettingTable = Readonly<Record<string, Setting>>;

/** Returns whether a message may repeat a text: not that of a secret, and no URL with a password. */
export function isPublic({ secret }: Ungrouped, text: string): boolean {
  return secret !== true && !/:\/\/.*@/s.test(text);
}

/** Adds the heading to the settings of a group. */
export function inGroup<const G extends Group, const T extends Readonly<Record<string, Ungrouped>>>(
  group: G,
  settings: T,
): { readonly [K in keyof T]: T[K] & { readonly group: G } } {
  const entries = Object.entries(settings).map(([key, setting]) => [key, { ...setting, group }]);
  return Object.fromEntries(entries) as { [K in keyof T]: T[K] & { group: G } }; // the same keys
}

/** Formats the default of a setting, between backticks if it is code. `undefined` if there is none. */
export function formatDefault(setting: Ungrouped): string | undefined {
  if (setting.defaultText !== undefined) return setting.defaultText;
  return setting.default === undefined ? undefined : `\`${formatValue(setting.type, setting.default)}\``;
}

function formatValue(type: SettingType, value: unknown): string {
  if (type.toText !== undefined) return type.toText(value as never); // a value of this type
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Formats the help of a setting with its default and its packages. */
export function describeSetting(setting: Ungrouped): string {
  const initial = formatDefault(setting);
  const { help, packages = [] } = setting;
  const needed =
    packages.length === 0
      ? ''
      : ` Requires the package${packages.length > 1 ? 's' : ''} ${packages.map((name) => `\`${name}\``).join(', ')}.`;
  return `${help}${needed}${initial === undefined ? '' : ` Default: ${initial}.`}`;
}

/** Removes the backticks of a description, for a terminal. */
export function toPlainText(text: string): string {
  return text.replaceAll('`', '');
}
