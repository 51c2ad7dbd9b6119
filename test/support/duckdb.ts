import { DuckDBInstance } from '@duckdb/node-api';

/** Runs an SQL statement in DuckDB and returns the rows. Integers and decimals are texts. */
export async function queryDuckDb(sql: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const reader = await connection.runAndReadAll(sql);
    return reader.getRowObjectsJson() as Record<string, unknown>[]; // JSON objects
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
