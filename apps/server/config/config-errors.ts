import type * as z from 'zod';
import { formatUnknownName } from '#internal';
import { flagOfPath } from '../settings/flags.ts';
import { isPublic } from '../settings/setting.ts';

/** Invalid settings. Each problem is one line that names its key. */
export class ConfigError extends TypeError {
  override readonly name = 'SettingsError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.problems = problems;
  }
}

/** The members of a JSON schema that are needed to find keys. */
interface Node {
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
}

/**
 * Formats the problems of a value that does not match its schema, one line per key, with the key that was probably
 * meant, or the object it belongs to.
 */
export function formatProblems(error: z.ZodError, value: unknown, schema: Node): string[] {
  return error.issues.flatMap((issue) => {
    const where = formatPath(issue.path);
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(key, issue.path, schema));
    const reason = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? 'is not allowed') : issue.message;
    const name = where === '' ? 'it' : where;
    if (issue.code === 'invalid_key') return `${name} ${reason}`;
    const given = at(value, issue.path);
    if (given === undefined) return `${name} is missing: it ${reason}`;
    // A suggestion is the end of a message.
    return `${name} ${reason.replace(/(; did you mean .*)?$/, (end) => `, got ${formatValue(given, issue.path)}${end}`)}`;
  });
}

/** Maximum number of characters of a value in a message. */
const MAX_TEXT = 60;

/** Formats a given value. Of an object, a long text, a secret and a value without a flag, it is the type. */
function formatValue(value: unknown, path: readonly PropertyKey[]): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  const keys = path.filter((key): key is string => typeof key === 'string' && key !== 'books' && key !== 'defaults');
  const setting = flagOfPath(keys)?.setting;
  const isShown = setting !== undefined && isPublic(setting, String(value));
  if (typeof value === 'string') return isShown && value.length <= MAX_TEXT ? `"${value}"` : 'text';
  return isShown ? String(value) : `a ${typeof value}`;
}

/** Formats a path: `books[1].chain`. */
function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '');
}

function unknownKey(key: string, path: readonly PropertyKey[], schema: Node): string {
  const here = Object.keys(nodeAt(schema, path)?.properties ?? {});
  const where = path.length === 0 ? '' : `${formatPath(path)}: `;
  const suggestion = formatUnknownName('key', key, here);
  const homes = findPlaces(key, schema, '');
  if (homes.length > 0) return `${where}unknown key "${key}" here; it belongs to ${homes.join(' or ')}`;
  return where + (suggestion.endsWith('?') ? suggestion : formatUnknownName('key', key, everyKey(schema)));
}

function nodeAt(schema: Node, path: readonly PropertyKey[]): Node | undefined {
  return path.reduce<Node | undefined>(
    (node, key) => (typeof key === 'number' ? node?.items : node?.properties?.[String(key)]),
    schema,
  );
}

/** Finds the objects that have a key. */
function findPlaces(key: string, node: Node, path: string): string[] {
  const here = Object.hasOwn(node.properties ?? {}, key) ? [path === '' ? 'the top' : path] : [];
  return [...here, ...listChildren(node, path).flatMap(([name, child]) => findPlaces(key, child, name))];
}

function everyKey(node: Node): string[] {
  return [...Object.keys(node.properties ?? {}), ...listChildren(node, '').flatMap(([, child]) => everyKey(child))];
}

function listChildren({ properties = {}, items }: Node, path: string): [path: string, child: Node][] {
  const members = Object.entries(properties).map(([name, child]): [string, Node] => [
    path === '' ? name : `${path}.${name}`,
    child,
  ]);
  return items === undefined ? members : [...members, [`${path}[]`, items]];
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  // Zod walked here.
  return path.reduce((node, key) => (node as Readonly<Record<PropertyKey, unknown>> | undefined)?.[key], value);
}
