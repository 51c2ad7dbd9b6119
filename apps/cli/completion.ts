import { COMMANDS } from './commands.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/**
 * Returns the script that completes commands, flags, and values of flags with few values.
 *
 * @param sandboxHelp - The help of the sandbox, which has flags of another table.
 */
export function completionScript(shell: Shell, sandboxHelp: string): string {
  const commands = FLAGS_OF.map((command) =>
    command.name === 'sandbox' ? { ...command, flags: readFlags(sandboxHelp) } : command,
  );
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](commands);
}

const NAMES = COMMANDS.map(({ name }) => name);

/** Texts that the argument of a command can have or begin with. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = { completion: SHELLS, help: NAMES, keys: ['create'] };

/** A flag, with the values that it can have. */
interface CompletedFlag {
  readonly name: string;
  readonly help: string;
  readonly takesValue: boolean;
  /** Whether the value is the name of a file. */
  readonly isFile: boolean;
  readonly values: readonly string[];
}

type Commands = readonly { readonly name: string; readonly flags: readonly CompletedFlag[] }[];

/** Placeholders of values that can be the name of a file. */
const FILE = /file|location/;

/** Characters with a meaning in a script. */
const SPECIAL = /[`'"[\]\\$]/g;

function readFlags(help: string): CompletedFlag[] {
  return [...help.matchAll(/^ {2}--([a-z-]+)(?: <(.*?)>)? +(.*)$/gm)].map(([, name = '', value, text = '']) => {
    const rest = { help: text.replaceAll(SPECIAL, ''), isFile: FILE.test(value ?? ''), values: [] };
    return { name, takesValue: value !== undefined, ...rest };
  });
}

const FLAGS_OF: Commands = COMMANDS.map(({ name, flags }) => ({
  name,
  flags: flags.map((flag) => ({
    name: flag.name,
    help: flag.setting.help.replaceAll(SPECIAL, ''),
    takesValue: flag.setting.type.alone !== true,
    isFile: flag.inFile || FILE.test(flag.setting.type.value),
    // A switch takes a value only after an equals sign. The value of a secret's second form is a file.
    values: flag.setting.type.alone === true || flag.inFile ? [] : (flag.setting.type.names ?? []),
  })),
}));

function bashScript(commands: Commands): string {
  const known = new Map(commands.flatMap(({ flags }) => flags.map((flag) => [flag.name, flag] as const)));
  const cases = [...known.values()].flatMap(({ name, takesValue, isFile, values }) => {
    if (!takesValue) return [];
    const generated = isFile ? '-f' : `-W '${values.join(' ')}'`;
    return [`    --${name}) COMPREPLY=($(compgen ${generated} -- "$word")); return ;;`];
  });
  const words = Object.entries(ARGUMENTS).map(([name, texts]) => `    ${name}) words='${texts.join(' ')}' ;;`);
  const flags = commands.map(
    ({ name, flags: own }) =>
      `    ${name}) options='${[...own.map((flag) => `--${flag.name}`), '--help'].join(' ')}' ;;`,
  );
  return `# intentbook completion for bash: eval "$(intentbook completion bash)"
_intentbook() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" options='' words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${NAMES.join(' ')}' -- "$word")); return
  fi
  case "$before" in
${cases.join('\n')}
  esac
  case "\${COMP_WORDS[1]}" in
${flags.join('\n')}
  esac
  case "\${COMP_WORDS[1]}" in
${words.join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 2 ] && [ -n "$words" ] && [ "\${word#-}" = "$word" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word")); return
  fi
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -W "$options" -- "$word") $(compgen -f -- "$word")) ;;
  esac
}
complete -F _intentbook intentbook
`;
}

function zshScript(commands: Commands): string {
  const summaries = COMMANDS.map(
    ({ name, summary }) => `    '${name}:${summary.replaceAll(/[`']/g, '').replaceAll(':', '\\:')}'`,
  );
  const cases = commands.map(({ name, flags }) => {
    const specs = flags.map(
      ({ name: flag, help, takesValue, isFile, values }) =>
        `'--${flag}[${help}]${takesValue ? `:value:${isFile ? '_files' : `(${values.join(' ')})`}` : ''}'`,
    );
    const words = ARGUMENTS[name];
    const argument = words === undefined ? "'*:file:_files'" : `'1:argument:(${words.join(' ')})'`;
    return `    ${name}) _arguments ${[...specs, "'--help[help]'", argument].join(' \\\n      ')} ;;`;
  });
  return `#compdef intentbook
# intentbook completion for zsh: eval "$(intentbook completion zsh)"
_intentbook() {
  local -a commands=(
${summaries.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands; return
  fi
  local command="\${words[2]}"
  shift words; (( CURRENT-- ))
  case "$command" in
${cases.join('\n')}
  esac
}
compdef _intentbook intentbook
`;
}

function fishScript(commands: Commands): string {
  const names = COMMANDS.map(
    ({ name, summary }) =>
      `complete -c intentbook -n __fish_use_subcommand -f -a ${name} -d '${summary.replaceAll(/[`']/g, '')}'`,
  );
  const flags = commands.flatMap(({ name, flags: known }) =>
    known.map(({ name: flag, help, takesValue, isFile, values }) => {
      const argument = !takesValue ? '' : isFile ? ' -r' : ` -x -a '${values.join(' ')}'`;
      return `complete -c intentbook -n '__fish_seen_subcommand_from ${name}' -l ${flag}${argument} -d '${help}'`;
    }),
  );
  const words = Object.entries(ARGUMENTS).map(
    ([name, texts]) => `complete -c intentbook -n '__fish_seen_subcommand_from ${name}' -f -a '${texts.join(' ')}'`,
  );
  return `# intentbook completion for fish: intentbook completion fish | source
${[...names, ...words, ...flags].join('\n')}
`;
}
