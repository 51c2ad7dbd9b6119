import { BOOK_SETTINGS, COMMON_SETTINGS } from './book-settings.ts';
import { COMMAND_SETTINGS } from './command-settings.ts';
import { SERVER_SETTINGS } from './server-settings.ts';
import { inGroup, type Setting, type SettingTable } from './setting.ts';

/** The object of a configuration file that has a setting. `command`: none. */
export type Scope = 'server' | 'book' | 'common' | 'command';

/** A command-line flag and its environment variable. */
export interface Flag {
  /** Without dashes: `max-open-orders`. */
  readonly name: string;
  readonly variable: string;
  readonly setting: Setting;
  readonly scope: Scope;
  /** Keys from the top level or the book: `['telegram', 'token']`. */
  readonly path: readonly string[];
  /** Paths of the settings that must be given together with this one. */
  readonly together: readonly (readonly string[])[];
  /** Whether the value is the name of a file that contains the setting. */
  readonly inFile: boolean;
}

/** Prefix of the environment variables. */
export const PREFIX = 'INTENTBOOK_';

/** The settings with their scope. */
export const SETTING_TABLES: readonly (readonly [Scope, SettingTable])[] = [
  ['server', SERVER_SETTINGS],
  ['book', BOOK_SETTINGS],
  ['common', COMMON_SETTINGS],
  ['command', COMMAND_SETTINGS],
];

/** All flags. A secret has two: its own, and one that names a file. */
export const FLAGS: readonly Flag[] = SETTING_TABLES.flatMap(([scope, table]) => deriveFlags(table, scope));

const BY_NAME = new Map(FLAGS.map((flag) => [flag.name, flag]));

export function findFlag(name: string): Flag | undefined {
  return BY_NAME.get(name);
}

/** Returns the flag of a setting: of `telegram.token` for `['telegram', 'token']`. */
export function flagOfPath(path: readonly string[]): Flag | undefined {
  return FLAGS.find((flag) => !flag.inFile && flag.path.join('.') === path.join('.'));
}

/** @param above - Key of the object whose members the table has, and whether all of them are required. */
function deriveFlags(
  table: SettingTable,
  scope: Scope,
  above?: { readonly key: string; readonly whole: boolean },
): Flag[] {
  return Object.entries(table).flatMap(([key, setting]) => {
    const { parts, partial } = setting.type;
    if (parts !== undefined) return deriveFlags(inGroup(setting.group, parts), scope, { key, whole: partial !== true });
    if (setting.flag === null) return [];
    const getPath = (member: string) => (above === undefined ? [member] : [above.key, member]);
    const path = getPath(key);
    const siblings = above?.whole === true ? Object.keys(table).filter((member) => member !== key) : [];
    const together = [...(setting.together ?? []), ...siblings].map(getPath);
    const name = setting.flag ?? path.map(toKebabCase).join('-');
    const variable = setting.variable ?? toVariable(name);
    const flag = { name, variable, setting, scope, path, together, inFile: false };
    if (setting.secret !== true) return [flag];
    return [flag, { ...flag, name: `${name}-file`, variable: `${variable}_FILE`, inFile: true }];
  });
}

function toKebabCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function toVariable(name: string): string {
  return PREFIX + name.replaceAll('-', '_').toUpperCase();
}
