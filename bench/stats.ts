import { crc32 } from 'node:zlib';
import Database from 'better-sqlite3';
import type { Api, ApiRequest, Hex } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { orderColumns, quoteColumns } from '../adapters/sqlite/rows.ts';
import { getUid, orderFile } from './files.ts';
import { CHAIN_ID } from './orders.ts';

/** HTTP API of a book on a file of orders, without a network. */
export interface ReadApi {
  readonly api: Api;
  close(): Promise<void>;
}

/** Opens the API of a book. @param cacheBytes - 0 for a book without a cache. */
export async function openApi(count: number, lane: string, cacheBytes?: number): Promise<ReadApi> {
  const store = sqliteStore({ path: await orderFile(count, lane) });
  const book = createOrderBook({ chainId: CHAIN_ID, store, ...(cacheBytes === undefined ? {} : { cacheBytes }) });
  await book.start();
  return { api: createApi(book), close: () => book.close() };
}

/** Sends a request and returns the bytes of the response, as a mount would write them. */
export async function requestBytes(api: Api, request: ApiRequest): Promise<Uint8Array> {
  const { status, body } = await api.handle(request);
  if (status !== 200) throw new Error(`the response has status ${status}`);
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof Uint8Array) return body;
  throw new Error('the response is a stream');
}

export function createGetRequest(path: string, query = ''): ApiRequest {
  return { method: 'GET', path, query, header: () => undefined, body: { type: 'none' } };
}

const HEADERS: Readonly<Record<string, string>> = { 'content-type': 'application/json' };

export function createByUidsRequest(uids: readonly Hex[]): ApiRequest {
  return {
    method: 'POST',
    path: '/api/v1/orders/by_uids',
    query: '',
    header: (name) => HEADERS[name],
    body: { type: 'bytes', bytes: Buffer.from(JSON.stringify(uids)) },
  };
}

/**
 * Opens a file of orders with the driver, configured as by the store, and with a SELECT of the same columns.
 *
 * @param lane - The file of a subject, to read from the same memory: copies of a large file differ by a third.
 */
export async function openBareDatabase(count: number, lane?: string) {
  const database = new Database(await orderFile(count, lane), { readonly: true });
  database.pragma('cache_size = -16384');
  const select = (size: number) => {
    const list = Array.from({ length: size }, () => '?').join(', ');
    return database
      .prepare<Buffer[], unknown[]>(
        `SELECT ${orderColumns('', 'full')}, ${quoteColumns} FROM orders o ` +
          `LEFT JOIN order_quotes q ON q.order_id = o.id WHERE o.uid IN (${list})`,
      )
      .raw();
  };
  return { database, select };
}

/** Compares rows with their checksums, and encodes them: the least work for a response. */
export function encodeRows(rows: readonly unknown[]): Buffer {
  const selected = rows as readonly (readonly [uid: string, body: string, checksum: number])[]; // the first columns
  for (const [, body, checksum] of selected) if (crc32(body) !== checksum) throw new Error('a row is damaged');
  return Buffer.from(`[${selected.map(([, body]) => body).join()}]`);
}

/**
 * Creates a generator of UID lists: pseudo-random, but the same in every process.
 *
 * @param seed - Another one selects other orders, whose pages are not in the cache of the processor.
 */
export function createUidPicker(count: number, size: number, among = count, seed = 1): () => Hex[] {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  return () => {
    const picked = new Set<number>();
    const limit = Math.min(size, among);
    while (picked.size < limit) picked.add(Math.floor(next() * among));
    return [...picked].map(getUid);
  };
}

/** Starts operations at fixed times, however long they take. @param interval - In milliseconds. */
export async function runAtRate(
  count: number,
  interval: number,
  operation: (i: number, due: number) => Promise<void>,
): Promise<void> {
  const start = performance.now();
  const running: Promise<void>[] = [];
  while (running.length < count) {
    const elapsed = performance.now() - start;
    while (running.length < count && running.length * interval <= elapsed) {
      running.push(operation(running.length, start + running.length * interval));
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 1);
    });
  }
  await Promise.all(running);
}
