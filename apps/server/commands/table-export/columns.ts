/** A value of a row. An amount is a decimal text, which may be negative. */
export type Value = string | number | boolean | null;

/** Values in the order of the columns. */
export type Row = readonly Value[];

/** The type of a column. `time` is in milliseconds since 1970. */
export type ColumnType = 'text' | 'integer' | 'boolean' | 'time' | 'amount';

/** A column of a table, by the name of its SQL column. */
export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}

/** Creates the columns of a table, each with the function that reads its value, and the function that makes a row. */
export function defineColumns<Source extends readonly unknown[]>(
  readers: Readonly<Record<string, readonly [type: ColumnType, read: (...source: Source) => Value]>>,
) {
  const columns = Object.entries(readers).map(([name, [type]]): Column => ({ name, type }));
  const toRow = (...source: Source): Row => Object.values(readers).map(([, read]) => read(...source));
  return { columns, toRow };
}

/** Rows to export, in batches. */
export interface Table {
  readonly columns: readonly Column[];
  readonly batches: AsyncIterable<readonly Row[]>;
  /** Position in the log up to which the rows are complete: `--after` of the next export. */
  readonly cursor: number;
  /** Number of rows or log entries, if it is known. For the progress. */
  readonly total?: number | undefined;
}

/** Digits of the lower part of an amount. Ten thousand times ten thousand such parts fit into DECIMAL(38,0). */
const LOW_DIGITS = 30;

/** Digits of a DECIMAL(38,0). */
const MAX_DIGITS = 38;

/** Splits an amount, with its sign: `high × 10^30 + low`. `undefined` for 10^68 and above, which no token has. */
export function splitAmount(text: string) {
  const sign = text.startsWith('-') ? '-' : '';
  const digits = sign === '' ? text : text.slice(1);
  if (digits.length <= LOW_DIGITS) return { high: '0', low: text };
  if (digits.length > LOW_DIGITS + MAX_DIGITS) return undefined;
  const low = digits.slice(-LOW_DIGITS).replace(/^0+(?=.)/, '');
  return { high: sign + digits.slice(0, -LOW_DIGITS), low: low === '0' ? low : sign + low };
}
