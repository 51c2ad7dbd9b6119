import { existsSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import { nameFile, PRIVATE, STANDARD_OUTPUT } from '../output.ts';
import type { Progress } from '../progress.ts';
import type { Table } from './columns.ts';
import type { TableWriter } from './table-writer.ts';

export const TABLE_NAMES = ['orders', 'trades', 'notifications'] as const;
export type TableName = (typeof TABLE_NAMES)[number];

export interface ExportedTable {
  readonly table: TableName;
  readonly rows: number;
  /** `--after` of the next export. */
  readonly cursor: number;
}

/** Returns whether a file is a table, by its extension. Other files are NDJSON. */
export const isTableFile = (path: string): boolean => ['.csv', '.parquet'].includes(extname(path).toLowerCase());

/**
 * Writes a table to a file. The rows are written to `<file>.partial`, which is renamed when it is complete and on
 * stable storage. So the file is complete if it exists. Rows on the standard output are CSV.
 *
 * @throws Error if the file exists.
 */
export async function exportTable(
  name: TableName,
  table: Table,
  path: string,
  progress: Progress,
): Promise<ExportedTable> {
  const file = path === STANDARD_OUTPUT ? undefined : await createPartial(path);
  try {
    const rows = await writeTable(name, table, path, progress, async () => file?.assertOwn());
    await file?.publish();
    return { table: name, rows, cursor: table.cursor };
  } catch (error) {
    await file?.remove();
    throw nameFile(path, error);
  } finally {
    await file?.close();
  }
}

/** @param assertOwn - Throws if another export writes the file. */
async function writeTable(
  name: TableName,
  table: Table,
  path: string,
  progress: Progress,
  assertOwn: () => Promise<void>,
): Promise<number> {
  const writer = await createWriter(name, table, path);
  let rows = 0;
  try {
    for await (const batch of table.batches) {
      await assertOwn();
      await writer.write(batch);
      rows += batch.length;
      progress.at(rows, table.total);
    }
    await assertOwn();
    await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
  return rows;
}

const toPartial = (path: string) => (path === STANDARD_OUTPUT ? path : `${path}.partial`);

/** Creates the partial file of an export. Another export to the same file replaces it, and then this one fails. */
async function createPartial(path: string) {
  const partial = toPartial(path);
  await rm(partial, { force: true });
  // The library of Parquet files keeps the mode of an existing file. The open handle shows whether it was replaced.
  const file = await open(partial, 'wx', PRIVATE);
  const isReplaced = async () => (await file.stat()).nlink === 0;

  async function assertOwn(): Promise<void> {
    if (await isReplaced()) throw new Error(`another export writes the file "${path}"`);
  }

  return {
    assertOwn,
    async publish(): Promise<void> {
      await assertOwn();
      assertNewFile(path);
      await rename(partial, path);
      await syncFolder(dirname(path));
    },
    async remove(): Promise<void> {
      if (!(await isReplaced())) await rm(partial, { force: true });
    },
    close: () => file.close(),
  };
}

/** @throws Error if the file exists. Called before the rows are read. */
export function assertNewFile(path: string): void {
  if (path !== STANDARD_OUTPUT && existsSync(path)) throw new Error(`the file "${path}" already exists`);
}

async function createWriter(name: TableName, { columns, cursor }: Table, path: string) {
  const partial = toPartial(path);
  if (extname(path).toLowerCase() !== '.parquet') {
    const { createCsvWriter } = await import('./csv-writer.ts');
    return createCsvWriter(partial, columns);
  }
  const { createParquetWriter } = await import('./parquet-writer.ts');
  const metadata = { 'intentbook.table': name, 'intentbook.cursor': String(cursor) };
  return createParquetWriter(partial, columns, metadata) satisfies Promise<TableWriter>;
}

/** Makes the new name of a file durable. Some platforms cannot open a folder. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined);
  await folder?.sync().catch(() => {});
  await folder?.close();
}
