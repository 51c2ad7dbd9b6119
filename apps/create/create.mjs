#!/usr/bin/env node
import { cpSync, existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';

/** The templates: examples of the repository, whose tests run against the packed package. */
export const TEMPLATES = [
  { name: 'express', example: 'express', summary: 'a book in an Express application' },
  { name: 'fastify', example: 'fastify-postgres', summary: 'a service with Fastify and PostgreSQL' },
  { name: 'hono', example: 'hono', summary: 'a book in a Hono application' },
  { name: 'server', example: 'server', summary: 'the standalone server with a configuration file' },
  { name: 'dapp', example: 'dapp-tests', summary: 'tests of a dApp in the sandbox' },
  { name: 'bot', example: 'market-maker', summary: 'a market maker that quotes both sides of a pair' },
];

const NAMES = TEMPLATES.map(({ name }) => name).join(', ');

const HELP = `create-intentbook: create a project with intentbook

Usage
  npm create intentbook@latest [folder] [-- --template <name>]

Templates
${TEMPLATES.map(({ name, summary }) => `  ${name.padEnd(10)}${summary}`).join('\n')}
`;

/** An error of the command line. */
class UsageError extends Error {}

/** Reads the arguments. @throws UsageError if one is unknown or missing. */
function parse(args) {
  const options = { folder: undefined, template: undefined, help: false };
  for (let i = 0; i < args.length; i++) {
    const [flag, inline] = args[i].split('=', 2);
    if (flag === '--help' || flag === '-h') options.help = true;
    else if (flag === '--template' || flag === '-t') {
      options.template = inline ?? args[++i];
      if (options.template === undefined) throw new UsageError(`--template must be one of ${NAMES}`);
    } else if (flag.startsWith('-')) throw new UsageError(`unknown flag "${flag}"; flags: --template, --help`);
    else if (options.folder === undefined) options.folder = args[i];
    else throw new UsageError(`argument "${args[i]}" is not known`);
  }
  return options;
}

/** Completes the options with questions on a terminal. @throws UsageError without a terminal. */
async function complete({ folder, template }, { stdin, stdout }) {
  if (folder !== undefined && template !== undefined) return { folder, template };
  if (!stdin.isTTY || !stdout.isTTY) {
    const call = `npm create intentbook@latest ${quote(folder ?? 'my-book')} -- --template ${quote(template ?? 'express')}`;
    throw new UsageError(`without a terminal, the folder and one of the templates ${NAMES} are required: ${call}`);
  }
  const terminal = createInterface({ input: stdin, output: stdout });
  // Unlike `terminal.question`, the iterator keeps lines that arrive before the question, and ends with the terminal.
  const lines = terminal[Symbol.asyncIterator]();
  const question = async (text, fallback) => {
    stdout.write(text);
    const { value, done } = await lines.next();
    if (done) throw new UsageError('the terminal was closed without a reply');
    return value.trim() || fallback;
  };
  try {
    const place = folder ?? (await question('Folder (my-book): ', 'my-book'));
    if (template !== undefined) return { folder: place, template };
    for (const [i, { name, summary }] of TEMPLATES.entries())
      stdout.write(`  ${i + 1}  ${name.padEnd(10)}${summary}\n`);
    const choice = await question('Template (1): ', '1');
    return { folder: place, template: TEMPLATES[Number(choice) - 1]?.name ?? choice };
  } finally {
    terminal.close();
  }
}

/** Returns the folder of a template: in the package, or in the repository. */
function findTemplate(example) {
  const packed = fileURLToPath(new URL(`templates/${example}`, import.meta.url));
  return existsSync(packed) ? packed : fileURLToPath(new URL(`../../examples/${example}`, import.meta.url));
}

/** Converts the name of a folder to that of a package. */
const toPackageName = (folder) =>
  basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '') || 'my-book';

/**
 * Creates the project.
 *
 * @returns the commands that follow.
 * @throws UsageError if the template is unknown, or if the folder has files.
 */
export function createProject(folder, template) {
  const found = TEMPLATES.find(({ name }) => name === template);
  if (found === undefined) throw new UsageError(`--template must be one of ${NAMES}, got "${template}"`);
  const target = resolve(folder);
  if (existsSync(target) && readdirSync(target).some((name) => name !== '.git')) {
    throw new UsageError(`the folder "${target}" must be empty`);
  }
  cpSync(findTemplate(found.example), target, { recursive: true });
  const file = join(target, 'package.json');
  const manifest = { ...JSON.parse(readFileSync(file, 'utf8')), name: toPackageName(target), version: '0.0.0' };
  writeFileSync(file, `${JSON.stringify(manifest, undefined, 2)}\n`);
  writeFileSync(join(target, '.gitignore'), 'node_modules\n*.sqlite\n*.sqlite-*\n.env\n');
  const place = relative(process.cwd(), target);
  const start = manifest.scripts.start === undefined ? [] : ['npm start'];
  return [...(place === '' ? [] : [`cd ${quote(place)}`]), 'npm install', 'npm test', ...start];
}

/** Returns a text as one argument of a command. Windows has double quotes only. */
function quote(text) {
  // A name that begins with a dash would be a flag.
  const safe = text.replace(/^-/, './-');
  if (/^[\w./\\:-]+$/.test(safe)) return safe;
  return process.platform === 'win32' ? `"${safe}"` : `'${safe.replaceAll("'", "'\\''")}'`;
}

async function run(args, { stdin, stdout, stderr }) {
  try {
    const options = parse(args);
    if (options.help) return stdout.write(HELP);
    const { folder, template } = await complete(options, { stdin, stdout });
    const steps = createProject(folder, template);
    stdout.write(
      `\nThe project is in ${resolve(folder)}. Next steps:\n\n${steps.map((step) => `  ${step}\n`).join('')}`,
    );
    stdout.write('\nREADME.md describes it. Documentation: https://github.com/intentbook/intentbook#readme\n');
  } catch (error) {
    const isRemoved = error.syscall === 'uv_cwd';
    const reason = isRemoved ? 'the current directory was removed; change to another' : error.message;
    stderr.write(`create-intentbook: ${reason}\n`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}

// npm runs the program through a link.
if (realpathSync(process.argv[1] ?? '') === fileURLToPath(import.meta.url)) await run(process.argv.slice(2), process);
