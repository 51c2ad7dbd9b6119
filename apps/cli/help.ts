import { CHAIN_LABELS } from '../server/settings/chain-name.ts';
import type { Flag } from '../server/settings/flags.ts';
import { formatDefault, GROUPS, toPlainText } from '../server/settings/setting.ts';
import { COMMANDS, type CommandInfo, findCommand } from './commands.ts';
import { PLAIN, type Style } from './style.ts';

/** Column of the descriptions. */
const COLUMN = 34;
/** Maximum length of a line. */
const WIDTH = 120;

/** Number of flags from which the help of a command shows the common ones only. */
const MANY = 40;

/**
 * Returns the text of `--help`, of a command or of the program.
 *
 * @param all - Whether the help of a command with many flags has all of them, and not only the common ones.
 */
export function helpText(of?: string, style: Style = PLAIN, all = false): string {
  const command = findCommand(of);
  return command === undefined ? overviewText(style) : commandText(command, all, style);
}

function overviewText(style: Style): string {
  const usage = ({ name, argument }: CommandInfo) => [`intentbook ${name}`, argument].filter(Boolean).join(' ');
  const lines = COMMANDS.map((command) => row(style.code, usage(command), command.summary));
  return `${style.title('intentbook')}: an order book for signed trade intents

${style.title('Usage')}
  intentbook <command> [flags]

${style.title('Commands')}
${lines.join('\n')}

${style.title('Examples')}
  intentbook serve --port 8080 --chain sepolia
  curl http://127.0.0.1:8080/api/v1/version
  curl 'http://127.0.0.1:8080/api/v1/orders?limit=5'

"intentbook help <command>" prints the flags of a command.
`;
}

function commandText(command: CommandInfo, all: boolean, style: Style): string {
  const { name, argument, summary, description, flags, examples } = command;
  const isShort = !all && flags.length > MANY;
  const shown = isShort ? flags.filter(({ setting, scope }) => setting.common || scope === 'command') : flags;
  const usage = ['intentbook', name, argument, flags.length > 0 ? '[flags]' : ''].filter(Boolean).join(' ');
  const paragraphs = [
    `${style.title(['intentbook', name, argument].filter(Boolean).join(' '))}: ${summary}`,
    section('Usage', `  ${usage}`, style),
    ...(description ?? '').split('\n\n').flatMap((text) => (text === '' ? [] : [reflow(text)])),
    ...flagSections(shown, style),
    ...(isShort ? [`These are the common flags. "intentbook ${name} --help --all" prints all.`] : []),
    ...(flags.some((flag) => flag.name === 'chain')
      ? [section('Chains', `  ${CHAIN_LABELS.join('\n  ')}`, style)]
      : []),
    ...(flags.some((flag) => flag.name === 'config') ? [section('Configuration file', CONFIG_EXAMPLE, style)] : []),
    section('Examples', examples.map((example) => `  intentbook ${example}`).join('\n'), style),
  ];
  return `${paragraphs.join('\n\n')}\n`;
}

function flagSections(flags: readonly Flag[], style: Style): string[] {
  const sections = GROUPS.flatMap((group) => {
    const members = flags.filter(({ setting, inFile }) => setting.group === group && !inFile);
    if (members.length === 0) return [];
    return [section(group, members.map((flag) => flagText(flag, style)).join('\n'), style)];
  });
  if (sections.length === 0) return [];
  const secrets = flags.some(({ inFile }) => inFile);
  const note = `Every flag has an environment variable: INTENTBOOK_MAX_OPEN_ORDERS for --max-open-orders. The flag wins.${
    secrets ? '\nA flag marked with * has a second form that reads the value from a file: --postgres-file <file>.' : ''
  }`;
  return [...sections, note];
}

function flagText({ name, setting, variable }: Flag, style: Style): string {
  const { type, help, secret } = setting;
  const initial = formatDefault(setting);
  const ending = initial === undefined ? '' : ` Default: ${initial}.`;
  const own = variable.startsWith('INTENTBOOK_') ? '' : ` Variable: ${variable}.`;
  const left = `--${name} ${type.alone === true ? '' : type.value}`.trimEnd() + (secret === true ? ' *' : '');
  return row(style.code, left, toPlainText(`${help}${ending}${own}`));
}

/** Formats two columns. A long left column has its own line, and the right one is wrapped. */
function row(paint: (text: string) => string, left: string, right: string): string {
  const indent = ' '.repeat(COLUMN);
  const [first = '', ...rest] = wrap(right, WIDTH - COLUMN);
  const lines = rest.map((line) => indent + line);
  if (left.length + 4 > COLUMN) return [`  ${paint(left)}`, indent + first, ...lines].join('\n');
  return [`  ${paint(left)}${' '.repeat(COLUMN - left.length - 2)}${first}`, ...lines].join('\n');
}

function reflow(text: string): string {
  return wrap(text.replaceAll('\n', ' '), WIDTH).join('\n');
}

function wrap(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last !== '' && last.length + word.length + 1 > width) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}

function section(title: string, content: string, style: Style): string {
  return `${style.title(title)}\n${content}`;
}

const CONFIG_EXAMPLE = `  {
    "port": 8080,
    "defaults": { "maxOpenOrders": 500 },
    "books": [
      { "chain": "mainnet" },                              // served at /mainnet, stored in mainnet.sqlite
      { "chain": "mainnet", "environment": "staging" },    // served at /staging/mainnet
      { "chain": 31337, "path": "/" }                      // served at the root
    ]
  }
  JSON schema: node_modules/intentbook/dist/config.schema.json`;
