import { open } from 'node:fs/promises';
import type { ColumnSource, SchemaElement } from 'hyparquet-writer';
import { requirePackage } from '../../require-package.ts';
import { type Column, type Row, splitAmount } from './columns.ts';
import type { TableWriter } from './table-writer.ts';

/** Rows of a row group. */
const GROUP = 50_000;

/** Bytes of a DECIMAL(38,0). */
const DECIMAL_BYTES = 16;

/**
 * Creates a writer of a Parquet file. An amount has three columns: the text, and two columns of type DECIMAL(38,0) of
 * 128 bits each. `metadata` becomes key-value metadata of the file. Requires the package hyparquet-writer.
 */
export async function createParquetWriter(
  path: string,
  columns: readonly Column[],
  metadata: Readonly<Record<string, string>>,
): Promise<TableWriter> {
  const { fileWriter, ParquetWriter } = await requirePackage(
    'a .parquet file',
    'hyparquet-writer',
    () => import('hyparquet-writer'),
  );
  const elements = columns.flatMap(toElements);
  const parquet = new ParquetWriter({
    writer: fileWriter(path),
    schema: [{ name: 'root', num_children: elements.length }, ...elements],
    kvMetadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
    createdBy: 'intentbook',
  });
  let rows: Row[] = [];

  async function writeGroup(): Promise<void> {
    if (rows.length === 0) return;
    const columnData = columns.flatMap((column, i) => toSources(column, rows, i));
    await parquet.write({ columnData, rowGroupSize: GROUP });
    rows = [];
  }

  return {
    async write(batch) {
      rows.push(...batch);
      if (rows.length >= GROUP) await writeGroup();
    },
    async finish() {
      await writeGroup();
      parquet.schema = parquet.schema.map(addConvertedType);
      await parquet.finish();
      const file = await open(path, 'r+');
      await file.sync();
      await file.close();
    },
    // The library keeps no file open between two writes.
    async abort() {},
  };
}

function toElements({ name, type }: Column): SchemaElement[] {
  const optional = { repetition_type: 'OPTIONAL' } as const;
  const text: SchemaElement = { name, type: 'BYTE_ARRAY', converted_type: 'UTF8', ...optional };
  switch (type) {
    case 'text':
      return [text];
    case 'integer':
      return [{ name, type: 'INT64', ...optional }];
    case 'boolean':
      return [{ name, type: 'BOOLEAN', ...optional }];
    case 'time':
      return [{ name, type: 'INT64', converted_type: 'TIMESTAMP_MILLIS', ...optional }];
    case 'amount':
      return [text, toDecimal(`${name}_hi`), toDecimal(`${name}_lo`)];
  }
}

const toDecimal = (name: string): SchemaElement => ({
  name,
  type: 'FIXED_LEN_BYTE_ARRAY',
  type_length: DECIMAL_BYTES,
  logical_type: { type: 'DECIMAL', precision: 38, scale: 0 },
  repetition_type: 'OPTIONAL',
});

/**
 * Adds the older form of the decimal type, which DuckDB requires. It is added after the rows are written: otherwise the
 * library would encode each value from a number again, which takes longer.
 */
function addConvertedType(element: SchemaElement): SchemaElement {
  const { logical_type: logical } = element;
  if (logical?.type !== 'DECIMAL') return element;
  return { ...element, converted_type: 'DECIMAL', precision: logical.precision, scale: logical.scale };
}

/** Members of a column of bytes. Their order is not that of the numbers, and a dictionary would not be shorter. */
const BYTES = { encoding: 'PLAIN', statistics: false } as const;

function toSources({ name, type }: Column, rows: readonly Row[], index: number): ColumnSource[] {
  const values = rows.map((row) => row[index] ?? null);
  switch (type) {
    case 'text':
    case 'boolean':
      return [{ name, data: values }];
    case 'integer':
    case 'time':
      return [{ name, data: values.map((value) => (typeof value === 'number' ? BigInt(value) : null)) }];
    case 'amount': {
      const parts = values.map((value) => (typeof value === 'string' ? splitAmount(value) : undefined));
      return [
        { name, data: values },
        { name: `${name}_hi`, data: toBytes(parts.map((part) => part?.high)), ...BYTES },
        { name: `${name}_lo`, data: toBytes(parts.map((part) => part?.low)), ...BYTES },
      ];
    }
  }
}

const ZERO = /* @__PURE__ */ new Uint8Array(DECIMAL_BYTES);

/** Encodes integers as two's complement, most significant byte first. They share one buffer. */
function toBytes(texts: readonly (string | undefined)[]): (Uint8Array | null)[] {
  const buffer = new ArrayBuffer(texts.length * DECIMAL_BYTES);
  const view = new DataView(buffer);
  return texts.map((text, i) => {
    if (text === undefined) return null;
    if (text === '0') return ZERO;
    const [value, at] = [BigInt(text), i * DECIMAL_BYTES];
    view.setBigInt64(at, value >> 64n);
    view.setBigUint64(at + 8, BigInt.asUintN(64, value));
    return new Uint8Array(buffer, at, DECIMAL_BYTES);
  });
}
