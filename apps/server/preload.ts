import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { constants, Script } from 'node:vm';

/** An import of a module of this package that loads files at run time, in built code. */
const STATIC = /(?:\bfrom\s*|\bimport\((?=.intentbook\/memory\b))["'](\.[^"']+|#internal|intentbook(?:\/[^"']+)?)["']/g;

/** An import of a file of this package at run time. */
const DYNAMIC = /\bimport\(\s*["'](\.[^"']+)["']\s*\)/g;

/**
 * Loads the files that a module imports at run time, and those that the modules of this package which it imports do.
 * Afterwards these imports need no file: the package may be replaced, or the process have no descriptor for a moment.
 * Node.js 20 keeps an import that has failed as failed until the process ends.
 *
 * @param file - URL of a built file. The imports of sources and of other bundles stay lazy.
 */
export async function preload(file: string, seen = new Set<string>()): Promise<void> {
  if (seen.has(file) || !file.startsWith('file:') || !file.endsWith('.js')) return;
  seen.add(file);
  const text = await readFile(new URL(file), 'utf8');
  for (const [, specifier = ''] of text.matchAll(DYNAMIC)) {
    await importFrom(file, specifier);
    await preload(new URL(specifier, file).href, seen);
  }
  for (const [, specifier = ''] of text.matchAll(STATIC)) {
    await preload(specifier.startsWith('.') ? new URL(specifier, file).href : import.meta.resolve(specifier), seen);
  }
}

/** Imports as the module of that URL does. The path of a file is looked up once for each importing module. */
function importFrom(file: string, specifier: string): Promise<unknown> {
  const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  const filename = fileURLToPath(file); // Bun takes no URL
  const script = new Script(`import(${JSON.stringify(specifier)})`, { filename, importModuleDynamically });
  const { emitWarning } = process;
  // Some releases of Node.js warn that the constant is experimental, during this call.
  process.emitWarning = () => {};
  try {
    return script.runInThisContext();
  } finally {
    process.emitWarning = emitWarning;
  }
}
