import { readFileSync } from 'node:fs';
import { FLAGS, type Flag, findFlag } from './flags.ts';
import { isPublic } from './setting.ts';
import { suggest } from './suggest.ts';
import { UsageError } from './usage-error.ts';

/** A command line and its environment. */
export interface SettingSources {
  /** The texts of flags by name. */
  readonly given: ReadonlyMap<string, string>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A value and its source for messages: `--port`, or `INTENTBOOK_PORT`. */
interface Found {
  readonly value: unknown;
  readonly source: string;
}

/**
 * Reads settings from a command line and the environment. Flags win. An empty variable counts as absent,
 * or is an error if the setting selects a store, a node or an access rule.
 */
export type SettingReader = ReturnType<typeof createSettingReader>;

/**
 * Creates a reader.
 *
 * @throws UsageError from its functions, except `problems`, if a value is malformed; the message has the flag or the
 *   variable.
 */
export function createSettingReader({ given, env }: SettingSources) {
  function getText({ name, variable, setting }: Flag): { readonly text: string; readonly source: string } | undefined {
    const flagText = given.get(name);
    if (flagText !== undefined) return { text: flagText, source: `--${name}` };
    const text = env[variable];
    if (text === '' && setting.notEmpty === true) {
      throw new UsageError(`${variable} is empty; set it to ${setting.type.expected}, or unset it`);
    }
    return text ? { text, source: variable } : undefined;
  }

  // A file of a secret may be a pipe, which can be read once.
  const cache = new Map<string, Found | undefined>();

  function find(flag: Flag): Found | undefined {
    const key = [flag.scope, ...flag.path].join('.');
    if (!cache.has(key)) cache.set(key, read(flag));
    return cache.get(key);
  }

  function findByName(name: string): Found | undefined {
    const flag = findFlag(name);
    return flag && find(flag);
  }

  /** Reads a setting: on the command line before the environment, each directly before in a file. */
  function read(flag: Flag): Found | undefined {
    const both = FLAGS.filter(({ path, scope }) => scope === flag.scope && path.join('.') === flag.path.join('.'));
    const found = both.flatMap((each) => {
      const text = getText(each);
      return text === undefined ? [] : [{ flag: each, ...text }];
    });
    const [best, other] = found.sort((a, b) => Number(b.source.startsWith('--')) - Number(a.source.startsWith('--')));
    if (best === undefined) return undefined;
    const isSameKind = other !== undefined && other.source.startsWith('--') === best.source.startsWith('--');
    if (isSameKind) throw new UsageError(`${best.source} and ${other.source} exclude each other`);
    return { source: best.source, value: parse(best.flag, best.text, best.source) };
  }

  return {
    /** Returns the source of a setting, by the name of its flag. `undefined` if it is not given. */
    source: (name: string): string | undefined => findByName(name)?.source,
    /** Returns a value, by the name of its flag. `undefined` if it is not given. */
    value: (name: string): unknown => findByName(name)?.value,
    /** Returns the given values of flags, in the structure of a configuration file. */
    values(flags: readonly Flag[]): Record<string, unknown> {
      const values: Record<string, unknown> = {};
      for (const flag of flags.filter(({ inFile }) => !inFile)) {
        const found = find(flag);
        if (found !== undefined) put(values, flag.path, found.value);
      }
      return values;
    },
    /** Returns the problems of the given values of flags. */
    problems(flags: readonly Flag[]): string[] {
      return flags.flatMap((flag) => {
        try {
          find(flag);
          return [];
        } catch (error) {
          if (error instanceof UsageError) return [error.message];
          throw error;
        }
      });
    },
  };
}

function put(values: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [key = '', ...rest] = path;
  if (rest.length === 0) values[key] = value;
  else {
    const below = (values[key] ?? {}) as Record<string, unknown>; // created here
    values[key] = below;
    put(below, rest, value);
  }
}

function parse({ setting, inFile }: Flag, given: string, source: string): unknown {
  const { type } = setting;
  const text = inFile ? readSecret(given, source) : given;
  const place = inFile ? `${source}: the content of "${given}"` : source;
  // `docker run --env-file` and Kubernetes keep the quotes, which would be part of a file name or a key.
  if (/^(["']).*\1$/s.test(text)) throw new UsageError(`${place} must not be in quotes`);
  const value = text === '' ? undefined : type.fromText(text);
  const { success, data } = type.schema.safeParse(value);
  // The schema of an optional value accepts undefined.
  if (success && value !== undefined) return data;
  const got = isPublic(setting, text) ? `, got "${text}"${suggest(text, type.names ?? [])}` : '';
  throw new UsageError(`${place} must be ${type.expected}${got}`);
}

/** Reads a secret from a file, without the line feed at its end. */
function readSecret(file: string, source: string): string {
  try {
    return readFileSync(file, 'utf8').trimEnd();
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
    throw new UsageError(`${source}: the file "${file}" cannot be read (${code})`);
  }
}
