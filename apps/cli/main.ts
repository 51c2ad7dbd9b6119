import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import * as net from 'node:net';
import { createInterface } from 'node:readline/promises';
import { STANDARD_OUTPUT } from '../server/commands/output.ts';
import { quoteArgument } from '../server/commands/shell-argument.ts';
import { ConfigError } from '../server/config/config-errors.ts';
import type { RunningServer, ServeOptions } from '../server/index.ts';
import { BOOK_SETTINGS } from '../server/settings/book-settings.ts';
import { UsageError } from '../server/settings/usage-error.ts';
import { completionScript } from './completion.ts';
import { helpText } from './help.ts';
import { audited, formatTarget } from './logging/audit.ts';
import { failureText, getReason, isSystemError } from './logging/failure.ts';
import { createLog } from './logging/log.ts';
import { textLog } from './logging/text-log.ts';
import { type Command, parseCommand, type ServeCommand } from './parse.ts';
import { onSignals } from './signals.ts';
import { createStyle } from './style.ts';
import { createSystemdNotifier } from './systemd.ts';

/** Exit codes. */
const FAILED = 1;
const MISUSED = 2;

/** Maximum milliseconds that a server without its store takes to close. */
const END_TIMEOUT = 15_000;

/** The package name resolves from any location of the built file. */
// Npm requires a version.
const { version } = createRequire(import.meta.url)('intentbook/package.json') as { version: string };

/**
 * Milliseconds after which the next address of a service is tried. The default of Node.js, 250, makes a distant service
 * with an unreachable IPv6 address unreachable.
 */
const ADDRESS_TIMEOUT = 1_500;

async function run(): Promise<void> {
  const current = net.getDefaultAutoSelectFamilyAttemptTimeout?.() ?? ADDRESS_TIMEOUT; // other runtimes lack it
  net.setDefaultAutoSelectFamilyAttemptTimeout?.(Math.max(current, ADDRESS_TIMEOUT));
  const [, , first, ...rest] = process.argv;
  // The sandbox has separate flags, and needs packages that a server does not need.
  if (first === 'sandbox') return (await import('intentbook/sandbox')).runSandboxCommand(rest);
  const command = parseCommand(process.argv.slice(2), process.env);
  switch (command.name) {
    case 'help':
      if (command.of === 'sandbox') return console.log((await readSandboxHelp()).trimEnd());
      return console.log(helpText(command.of, createStyle(process.stdout, process.env), command.all).trimEnd());
    case 'version':
      return console.log(command.json ? JSON.stringify({ version, node: process.versions.node }) : version);
    case 'migrate':
      return runMigration(command);
    case 'completion':
      return console.log(completionScript(command.shell, await readSandboxHelp()).trimEnd());
    case 'doctor':
      return runDoctor(command);
    case 'init': {
      const chain = command.isChosen || command.json ? command.chain : await readChain(command.chain);
      const { initConfig } = await import('../server/commands/init.ts');
      const file = await initConfig(command.file, chain).catch((error: unknown) => failWith(error));
      const next = `intentbook check --config ${quoteArgument(command.file)}`;
      return console.log(
        command.json ? JSON.stringify({ ok: true, file }) : `${file} was written; check it with "${next}"`,
      );
    }
    case 'keys': {
      const { key: target, log } = command;
      const { createNamedKey, formatKey } = await import('../server/commands/create-key.ts');
      const created = await audited(log, { action: 'keys create', target }, () => createNamedKey(target));
      return console.log(command.json ? JSON.stringify({ ok: true, ...created }) : formatKey(created));
    }
    case 'check':
      return runCheck(command);
    case 'command':
      return runMaintenance(command);
    case 'serve':
      return runServer(command);
  }
}

async function readSandboxHelp(): Promise<string> {
  const { runSandboxCommand } = await import('intentbook/sandbox');
  let text = '';
  const stdout = { write: (part: string) => (text += part) };
  await runSandboxCommand(['--help'], { stdout, stderr: process.stderr, on() {}, exit: process.exit });
  return text;
}

/** Returns the plan of a server that is not started. @throws UsageError if a setting is invalid. */
async function planned(command: ServeCommand) {
  const options = await configured(command);
  const { planOptions } = await import('../server/config/plan-options.ts');
  try {
    return { plan: planOptions(options).plan, folder: options.folder };
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.problems.join('\n  ')) : error;
  }
}

/** Name of the configuration file that `init` writes by default. */
const CONFIG_FILE = 'intentbook.json';

/** Returns a hint about a configuration file of the current directory that is not used. */
function findUnusedFile({ config }: { readonly config?: string }): string[] {
  if (config !== undefined || !existsSync(CONFIG_FILE)) return [];
  return [`${CONFIG_FILE} is not used; to use it, add --config ${CONFIG_FILE}`];
}

async function runCheck(command: ServeCommand): Promise<void> {
  const { plan, folder } = await planned(command);
  const { checkSettings } = await import('../server/commands/check.ts');
  const { books, problems, notChecked } = await checkSettings(plan, folder, command.connect);
  const ok = problems.length === 0;
  if (!ok) process.exitCode = FAILED;
  if (command.json) return console.log(JSON.stringify({ ok, books, problems, notChecked }));
  const lines = books.map(({ path, chain, chainId, environment, database }) => {
    return `  ${path}: ${chain} (${chainId}), ${environment}, ${database}`;
  });
  const title = `${books.length === 1 ? '1 book' : `${books.length} books`}${ok ? ' would be served' : ''}`;
  const rest = notChecked.length === 0 ? [] : [`not checked: ${notChecked.join(', ')}`];
  console.log([title, ...lines, ...rest].join('\n'));
  for (const line of [...problems, ...findUnusedFile(command)]) console.error(`intentbook: ${line}`);
}

/** Reads the chain of a new configuration from the terminal, if there is one. */
async function readChain(fallback: string | number): Promise<string | number> {
  if (!isTerminal) return fallback;
  const { schema, fromText, expected } = BOOK_SETTINGS.chain.type;
  return onTerminal(async (question) => {
    for (;;) {
      const text = await question(`Chain, by name or id (${fallback}): `);
      if (text === '') return fallback;
      const parsed = schema.safeParse(fromText(text));
      if (parsed.success) return parsed.data;
      console.error(`chain must be ${expected}, got "${text}"`);
    }
  });
}

/** Uses the terminal for questions. A text that is typed ahead is the reply to the next one. */
async function onTerminal<T>(use: (question: (text: string) => Promise<string>) => Promise<T>): Promise<T> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    // Unlike `terminal.question`, the iterator keeps lines that arrive before the question, and ends with the terminal.
    const lines = terminal[Symbol.asyncIterator]();
    return await use(async (text) => {
      process.stderr.write(text);
      const { value, done } = await lines.next();
      if (done === true) throw new UsageError('the terminal was closed without a reply');
      return value.trim();
    });
  } finally {
    terminal.close();
  }
}

/** Whether a person can reply to a question. */
const isTerminal = process.stdin.isTTY === true && process.stderr.isTTY === true;

const confirm = (text: string) => onTerminal(async (question) => /^y(es)?$/i.test(await question(`${text} (y/N) `)));

async function runDoctor(command: ServeCommand): Promise<void> {
  const { plan, folder } = await planned(command);
  const { examine } = await import('../server/commands/doctor.ts');
  const lines = await examine(plan, version, folder);
  const ok = lines.every(({ isProblem }) => isProblem !== true);
  if (!ok) process.exitCode = FAILED;
  if (command.json) return console.log(JSON.stringify({ ok, report: lines }));
  const format = ({ subject, text, isProblem }: (typeof lines)[number]) =>
    `${isProblem === true ? 'PROBLEM ' : '        '}${subject.padEnd(20)} ${text}`;
  console.log(lines.map(format).join('\n'));
  for (const hint of findUnusedFile(command)) console.error(`intentbook: ${hint}`);
}

async function runMigration({ options, json, log }: Command & { name: 'migrate' }): Promise<void> {
  const { migrateAll } = await import('../server/commands/migrate.ts');
  const action = { action: 'migrate', target: formatTarget(options) };
  const schemas = await audited(log, action, () => migrateAll(options)).catch((error: unknown) => failWith(error));
  console.log(json ? JSON.stringify({ ok: true, schemas }) : schemas.join('\n'));
}

async function runMaintenance({ options, yes, log }: Command & { name: 'command' }): Promise<void> {
  const { runCommand } = await import('../server/commands/index.ts');
  const { command, book, accounts, config, file, account } = options;
  const action = { action: command, target: formatTarget({ ...book, accounts, config, file, account }) };
  const isConfirmed = command === 'prune' && !yes && !options.json && isTerminal;
  const run = () => runCommand(isConfirmed ? { ...options, confirm } : options, process.stderr);
  const outcome = await audited(log, action, run, ({ ok }) => ok).catch((error: unknown) => failWith(error));
  const { ok, words, data } = outcome;
  print(options.json ? JSON.stringify({ ok, ...data }) : words);
  if (!ok) process.exitCode = FAILED;
}

/** Reads the configuration file, if one is named. Options of the command line override it. */
async function configured({ config: file, options }: ServeCommand): Promise<ServeOptions> {
  if (file === undefined) return options;
  const { mergeSettings, readConfigFile } = await import('../server/config/load.ts');
  const { planServer } = await import('../server/config/plan.ts');
  try {
    const merged = mergeSettings(await readConfigFile(file), options);
    const { folder = '.', ...settings } = merged;
    planServer(settings, folder);
    return merged;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new UsageError([`${file} is invalid:`, ...error.problems].join('\n  '));
  }
}

/** Ends a server that cannot serve any more: running requests are finished first. */
async function end(server: RunningServer | undefined): Promise<never> {
  setTimeout(() => process.exit(FAILED), END_TIMEOUT);
  await server?.close().catch(() => {}); // the store was lost, which was reported
  process.exit(FAILED);
}

async function runServer(command: ServeCommand): Promise<void> {
  const options = await configured(command);
  const cannotStart = (error: unknown): never =>
    fail(error instanceof ConfigError ? MISUSED : FAILED, failureText(error, options));
  const log = options.log === 'json' ? await createLog(version).catch(cannotStart) : textLog(version);
  for (const warning of [...command.warnings, ...findUnusedFile(command)]) log.warning(warning);
  const notifySystemd = createSystemdNotifier(process.env, log.warning);
  let server: RunningServer | undefined;
  // Before the start, which may wait: a container ignores the signals that its first process does not handle.
  onSignals(process, () => performance.now(), {
    first(signal) {
      if (server === undefined) {
        log.stopped();
        process.exit(0);
      }
      log.stopping(signal);
      notifySystemd('STOPPING=1');
      server.close().then(
        () => {
          log.stopped();
          process.exit(0);
        },
        (error: unknown) => fail(FAILED, failureText(error, options)),
      );
    },
    second: () => fail(FAILED, 'ended before all requests were finished'),
  });
  const { serve } = await import('../server/index.ts');
  server = await serve({
    ...options,
    onExchange: log.exchanged,
    onOperatorAction: log.audit,
    onFailure: log.failure,
    onNotice: log.notice,
    // The supervisor starts another process, which waits for the lease or names the process that has it.
    onLost: () => void end(server),
    onChainChange: ({ path, up, message }) =>
      (up ? log.notice : log.warning)(path === '/' ? message : `${path} ${message}`),
  }).catch(cannotStart);
  log.started(server);
  notifySystemd('READY=1');
}

/** Whether the output is JSON. Also read if the command line is invalid. */
const isJson = process.argv.some((argument) => argument === '--json' || argument === '--json=on');

/** Prints a result. The standard output may contain an export. */
const print = process.argv.includes(STANDARD_OUTPUT) ? console.error : console.log;

/** Ends a command that has failed. */
function failWith(error: unknown): never {
  return fail(FAILED, getReason(error), error);
}

/** Prints an error and exits: as one line, or as JSON on the standard output. */
function fail(exitCode: number, message: string, error?: unknown): never {
  const name = error instanceof Error ? error.name : 'Error';
  const code = error instanceof Error && 'code' in error ? String(error.code) : name;
  if (isJson) print(JSON.stringify({ ok: false, error: { code, message } }));
  else console.error(`intentbook: ${message}`);
  process.exit(exitCode);
}

/** Runs the command of the process. */
export function runProcess(): void {
  // The reader of the output may exit first. That must not end the server or prevent it from closing its store.
  process.stdout.on('error', () => {});
  process.stderr.on('error', () => {});
  run().catch((error: unknown) => {
    if (error instanceof UsageError) fail(MISUSED, error.message, error);
    if (isSystemError(error)) failWith(error);
    throw error;
  });
}
