import { toCsvLine } from '#internal';
import { openOutput } from '../output.ts';
import { type Column, type Row, splitAmount, type Value } from './columns.ts';
import type { TableWriter } from './table-writer.ts';

/**
 * Creates a writer of CSV (RFC 4180) to a file or to the standard output. Times are in ISO 8601. An amount has three
 * columns.
 */
export async function createCsvWriter(path: string, columns: readonly Column[]): Promise<TableWriter> {
  const output = await openOutput(path);
  const names = columns.flatMap(({ name, type }) => (type === 'amount' ? [name, `${name}_hi`, `${name}_lo`] : [name]));
  await output.write(toCsvLine(names));

  const toLine = (row: Row) => toCsvLine(columns.flatMap(({ type }, i) => toFields(type, row[i] ?? null)));

  return {
    async write(rows) {
      await output.write(rows.map(toLine).join(''));
    },
    async finish() {
      await output.sync();
      await output.close();
    },
    abort: () => output.close(),
  };
}

function toFields(type: Column['type'], value: Value): Value[] {
  if (type === 'time') return [typeof value === 'number' ? new Date(value).toISOString() : null];
  if (type !== 'amount') return [value];
  const parts = typeof value === 'string' ? splitAmount(value) : undefined;
  return [value, parts?.high ?? null, parts?.low ?? null];
}
