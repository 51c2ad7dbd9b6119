#!/usr/bin/env node
import { createRequire } from 'node:module';
import { type CommandOptions, runCommand } from '../commands/index.ts';
import { migrateAll } from '../commands/migrate.ts';
import { readConfigFile } from '../config/load.ts';
import { ConfigError, type ServeOptions, serve } from '../index.ts';
import { failureText, getReason } from '../logging/failure.ts';
import { createLog } from '../logging/log.ts';
import { textLog } from '../logging/text-log.ts';
import { helpText } from './help.ts';
import { type MigrateOptions, parseCommand } from './parse.ts';
import { onSignals } from './signals.ts';
import { UsageError } from './usage-error.ts';

/** The package name resolves from any location of the built file. */
// Npm requires a version.
const { version } = createRequire(import.meta.url)('intentbook/package.json') as { version: string };

async function run(): Promise<void> {
  const [, , first, ...rest] = process.argv;
  // The sandbox has separate flags, and needs packages that a server does not need.
  if (first === 'sandbox') return (await import('intentbook/sandbox')).runSandboxCommand(rest);
  const command = parseCommand(process.argv.slice(2), process.env);
  if (command.name === 'help') console.log(helpText(command.of).trimEnd());
  else if (command.name === 'version') console.log(version);
  else if (command.name === 'migrate') await runMigration(command.options);
  else if (command.name === 'command') await runMaintenance(command.options);
  else if ('config' in command) await runServer({ ...(await configured(command.config)), ...command.options });
  else await runServer(command.options);
}

async function runMigration(options: MigrateOptions): Promise<void> {
  for (const line of await migrateAll(options).catch((error: unknown) => fail(1, getReason(error)))) console.log(line);
}

async function runMaintenance(options: CommandOptions): Promise<void> {
  const { ok, words, data } = await runCommand(options, process.stderr).catch((error: unknown) =>
    fail(1, getReason(error)),
  );
  console.log(options.json ? JSON.stringify({ ok, ...data }) : words);
  if (!ok) process.exitCode = 1;
}

async function configured(file: string): Promise<ServeOptions> {
  return readConfigFile(file).catch((error: unknown) => {
    if (!(error instanceof ConfigError)) throw error;
    throw new UsageError([`${file} is invalid:`, ...error.problems].join('\n  '));
  });
}

async function runServer(options: ServeOptions): Promise<void> {
  const cannotStart = (error: unknown): never => fail(1, failureText(error, options));
  const log = options.log === 'json' ? await createLog(version).catch(cannotStart) : textLog(version);
  const server = await serve({ ...options, onExchange: log.exchanged }).catch(cannotStart);
  for (const { path, book } of server.deployments) book.on('failure', (failure) => log.failure(path, failure));
  onSignals(process, () => performance.now(), {
    first(signal) {
      log.stopping(signal);
      server.close().then(
        () => process.exit(0),
        (error: unknown) => fail(1, failureText(error, options)),
      );
    },
    second: () => fail(1, 'ended before all requests were finished'),
  });
  log.started(server);
}

function fail(exitCode: number, message: string): never {
  console.error(`intentbook: ${message}`);
  process.exit(exitCode);
}

// The reader of the output may exit first. That must not end the server or prevent it from closing its store.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

run().catch((error: unknown) => {
  if (error instanceof UsageError) fail(2, error.message);
  throw error;
});
