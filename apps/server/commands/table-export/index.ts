import { existsSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import { PRIVATE, STANDARD_OUTPUT } from '../output.ts';
import type { Progress } from '../progress.ts';
import type { Table } from './columns.ts';
import type { TableWriter } from './table-writer.ts';

/** The tables that can be exported. */
export const TABLE_NAMES = ['orders', 'trades', 'notifications'] as const;
/** A table that can be exported. */
export type TableName = (typeof TABLE_NAMES)[number];

/** A written table. */
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
  const isFile = path !== STANDARD_OUTPUT;
  const partial = isFile ? `${path}.partial` : path;
  // The library of Parquet files keeps the mode of an existing file.
  if (isFile) await (await open(partial, 'w', PRIVATE)).close();
  const writer = await createWriter(name, table, path, partial);
  let rows = 0;
  try {
    for await (const batch of table.batches) {
      await writer.write(batch);
      rows += batch.length;
      progress.at(rows, table.total);
    }
    await writer.finish();
  } catch (error) {
    await writer.abort();
    if (isFile) await rm(partial, { force: true });
    throw error;
  }
  if (isFile) {
    await rename(partial, path);
    await syncFolder(dirname(path));
  }
  return { table: name, rows, cursor: table.cursor };
}

/** @throws Error if the file exists. Called before the rows are read. */
export function assertNewFile(path: string): void {
  if (path !== STANDARD_OUTPUT && existsSync(path)) throw new Error(`the file "${path}" already exists`);
}

async function createWriter(name: TableName, { columns, cursor }: Table, path: string, partial: string) {
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
