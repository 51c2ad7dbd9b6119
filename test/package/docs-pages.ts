import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Root of the repository, with a slash at its end. */
export const root: string = fileURLToPath(new URL('../../', import.meta.url));

/** A page of the documentation. */
export interface Page {
  /** Path from the root of the repository. */
  readonly path: string;
  readonly text: string;
}

/** Reads a page by its path from the root of the repository. */
export function readPage(path: string): Page {
  return { path, text: readFileSync(join(root, path), 'utf8') };
}

/** Reads all pages: those at the root of the repository, in docs and in .github. */
export function readPages(): Page[] {
  const inFolder = (folder: string) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`);
  const paths = [...readdirSync(root), ...inFolder('docs'), ...inFolder('.github')];
  // The API reference is generated from the comments of the code.
  return paths.filter((path) => path.endsWith('.md') && !path.startsWith('docs/api/')).map(readPage);
}

/** Returns the text of a page between `<!-- name:begin -->` and `<!-- name:end -->`. */
export function blockOf({ path, text }: Page, name: string): string {
  const block = new RegExp(`<!-- ${name}:begin -->\\n([\\s\\S]*?)<!-- ${name}:end -->`).exec(text)?.[1];
  if (block === undefined) throw new Error(`${path} must have the markers ${name}:begin and ${name}:end`);
  return block;
}

/** A table in Markdown. */
export interface Table {
  /** The nearest heading above the table. */
  readonly heading: string;
  /** Cells of the first row. */
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Reads all tables of a text. */
export function tablesOf(text: string): Table[] {
  const tables: { heading: string; header: string[]; rows: string[][] }[] = [];
  let heading = '';
  let open = false;
  for (const line of text.replace(/^```[\s\S]*?^```$/gm, '').split('\n')) {
    heading = /^#+ (.+)$/.exec(line)?.[1] ?? heading;
    const isRow = line.startsWith('|');
    const cells = line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim());
    const table = tables.at(-1);
    if (isRow && !open) tables.push({ heading, header: cells, rows: [] });
    else if (isRow && !/^\|(?:\s*:?-+:?\s*\|)+$/.test(line)) table?.rows.push(cells);
    open = isRow;
  }
  return tables;
}

/** Returns what stands between backticks in a text. */
export function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}
