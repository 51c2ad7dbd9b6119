import { type FileHandle, open } from 'node:fs/promises';
import { toCsvLine } from '#internal';
import { writeAll } from '../write-all.ts';
import type { Column, Row, Value } from './columns.ts';
import { splitAmount } from './columns.ts';
import type { TableWriter } from './table-writer.ts';

/** Creates a writer of a CSV file (RFC 4180). Times are in ISO 8601. An amount has three columns. */
export async function createCsvWriter(path: string, columns: readonly Column[]): Promise<TableWriter> {
  const file: FileHandle = await open(path, 'w');
  const names = columns.flatMap(({ name, type }) => (type === 'amount' ? [name, `${name}_hi`, `${name}_lo`] : [name]));
  let end = 0;
  const write = async (text: string) => {
    end = await writeAll(file, text, end);
  };
  await write(toCsvLine(names));

  const toLine = (row: Row) => toCsvLine(columns.flatMap(({ type }, i) => toFields(type, row[i] ?? null)));

  return {
    async write(rows) {
      await write(rows.map(toLine).join(''));
    },
    async finish() {
      await file.sync();
      await file.close();
    },
    abort: () => file.close(),
  };
}

function toFields(type: Column['type'], value: Value): Value[] {
  if (type === 'time') return [typeof value === 'number' ? new Date(value).toISOString() : null];
  if (type !== 'amount') return [value];
  const parts = typeof value === 'string' ? splitAmount(value) : undefined;
  return [value, parts?.high ?? null, parts?.low ?? null];
}
