// Writes the type declarations of the package: those of all modules that an entry reaches, in `dist/types`, and one
// file per entry that exports them. A bundler of declarations would compile the whole program once per entry.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';

const TSC = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

/** A relative module specifier with the extension of a source. */
const SPECIFIER = /((?:from |import\()['"])(\.\.?\/[^'"]+)\.ts(['"])/g;

/**
 * Writes the declarations.
 *
 * @param entries - Source of each entry, by its name in `dist`.
 */
export async function writeDeclarations(entries: Readonly<Record<string, string>>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'intentbook-types-'));
  try {
    await compile(folder);
    const done = new Set<string>();
    for (const [name, source] of Object.entries(entries)) {
      await copyReached(source, folder, done);
      await writeEntry(name, source, folder);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function compile(folder: string): Promise<void> {
  try {
    await promisify(execFile)(process.execPath, [TSC, '--project', 'tsconfig.types.json', '--outDir', folder]);
  } catch (failure) {
    const { stdout = String(failure) } = failure as { readonly stdout?: string }; // of a program that failed
    throw new Error(`the declarations cannot be compiled:\n${stdout}`);
  }
}

/** Copies the declarations of a source and of all sources that they import. */
async function copyReached(source: string, folder: string, done: Set<string>): Promise<void> {
  if (done.has(source)) return;
  done.add(source);
  const text = await readFile(join(folder, toDeclaration(source)), 'utf8');
  const target = resolve('dist/types', toDeclaration(source));
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, text.replace(SPECIFIER, '$1$2.js$3'));
  for (const [, , specifier] of text.matchAll(SPECIFIER)) {
    await copyReached(join(dirname(source), `${specifier}.ts`), folder, done);
  }
}

async function writeEntry(name: string, source: string, folder: string): Promise<void> {
  const target = resolve('dist', `${name}.d.ts`);
  const path = relative(dirname(target), resolve('dist/types', source)).replace(/\.ts$/, '.js');
  const text = await readFile(join(folder, toDeclaration(source)), 'utf8');
  const hasDefault = /export default |export \{[^}]*\bdefault\b/.test(text);
  const lines = [`export * from './${path}';`, ...(hasDefault ? [`export { default } from './${path}';`] : [])];
  await writeFile(target, `${lines.join('\n')}\n`);
}

const toDeclaration = (source: string) => source.replace(/\.ts$/, '.d.ts');
