import { parseArgs } from 'node:util';
import { formatUnknownName } from '#internal';
import { FLAGS, findFlag } from '../server/settings/flags.ts';
import { findCommand } from './commands.ts';

/** A command line whose values are not validated yet. */
export interface SplitArgs {
  /** The texts of flags by name. */
  readonly given: ReadonlyMap<string, string>;
  readonly words: readonly string[];
  readonly special: 'help' | 'version' | undefined;
  /** Whether the help lists all flags. */
  readonly all: boolean;
  /** Unknown and repeated flags, and missing values. */
  readonly problems: readonly string[];
}

const SPECIAL = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
  all: { type: 'boolean' },
} as const;

/** Splits a command line into flags and words. */
export function splitArgs(args: readonly string[]): SplitArgs {
  // A flag that may have no value takes one only after an equals sign: `--migrate=off`.
  const types = FLAGS.map(({ name }) => [name, { type: isSwitch(name) ? 'boolean' : 'string' }] as const);
  const options = { ...Object.fromEntries(types), ...SPECIAL };
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const given = new Map<string, string>();
  const words: string[] = [];
  const problems: string[] = [];
  let special: SplitArgs['special'];
  let all = false;
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    const flag = findFlag(name);
    if (name === 'help' || name === 'version') special ??= name;
    else if (name === 'all') all = true;
    else if (flag === undefined || !rawName.startsWith('--')) problems.push(formatUnknownFlag(rawName, words[0]));
    else if (given.has(name)) problems.push(`--${name} must be given once`);
    else if (isSwitch(name) && !inlineValue) given.set(name, 'on');
    // The next flag would otherwise be taken as the value.
    else if (value === undefined || (!inlineValue && /^--?[a-z]/i.test(value))) {
      problems.push(`--${name} requires a value: --${name} ${flag.inFile ? '<file>' : flag.setting.type.value}`);
    } else given.set(name, value);
  }
  if (all && special !== 'help' && words[0] !== 'help') problems.push('--all requires --help');
  return { given, words, special, all, problems };
}

function isSwitch(name: string): boolean {
  return findFlag(name)?.setting.type.alone === true;
}

function formatUnknownFlag(rawName: string, command: string | undefined): string {
  const known = [...FLAGS.map(({ name }) => name), ...Object.keys(SPECIAL)].map((name) => `--${name}`);
  const text = formatUnknownName('flag', rawName, known);
  const { name } = findCommand(command) ?? { name: 'serve' };
  return text.endsWith('?') ? text : `${text}; "intentbook help ${name} --all" lists them`;
}
