import Database from 'better-sqlite3';
import type { Api, ApiRequest, Hex } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { orderColumns, quoteColumns } from '../adapters/sqlite/rows.ts';
import { orderFile, uidOf } from './files.ts';
import { CHAIN_ID } from './orders.ts';

/** A book's HTTP interface on a file of orders, without a network. */
export interface ReadApi {
  readonly api: Api;
  close(): Promise<void>;
}

/** @param cacheBytes 0 for a book that reads everything anew. */
export async function openApi(count: number, lane: string, cacheBytes?: number): Promise<ReadApi> {
  const store = sqliteStore({ path: await orderFile(count, lane) });
  const book = createOrderBook({ chainId: CHAIN_ID, store, ...(cacheBytes === undefined ? {} : { cacheBytes }) });
  await book.start();
  return { api: createApi(book), close: () => book.close() };
}

/** Asks for something and takes the answer's bytes, as a mount would write them. */
export async function answerOf(api: Api, request: ApiRequest): Promise<Uint8Array> {
  const { status, body } = await api.handle(request);
  if (status !== 200) throw new Error(`the answer is ${status}`);
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof Uint8Array) return body;
  throw new Error('the answer is a stream');
}

export function getRequest(path: string, query = ''): ApiRequest {
  return { method: 'GET', path, query, header: () => undefined, body: { type: 'none' } };
}

const HEADERS: Readonly<Record<string, string>> = { 'content-type': 'application/json' };

export function byUidsRequest(uids: readonly Hex[]): ApiRequest {
  return {
    method: 'POST',
    path: '/api/v1/orders/by_uids',
    query: '',
    header: (name) => HEADERS[name],
    body: { type: 'bytes', bytes: Buffer.from(JSON.stringify(uids)) },
  };
}

/** The driver by itself on a file of orders, set up as the store sets it up, with the store's own SELECT. */
export async function bareDatabase(count: number) {
  const database = new Database(await orderFile(count), { readonly: true });
  database.pragma('cache_size = -65536');
  const select = (places: number) => {
    const list = Array.from({ length: places }, () => '?').join(', ');
    return database
      .prepare<Buffer[], unknown[]>(
        `SELECT ${orderColumns('')}, ${quoteColumns} FROM orders o ` +
          `LEFT JOIN order_quotes q ON q.order_id = o.id WHERE o.uid IN (${list})`,
      )
      .raw();
  };
  return { database, select };
}

/** Makes lists of UIDs: random, but the same in every process. */
export function uidPicker(count: number, size: number, among = count): () => Hex[] {
  let state = 1;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  return () => {
    const picked = new Set<number>();
    const wanted = Math.min(size, among);
    while (picked.size < wanted) picked.add(Math.floor(next() * among));
    return [...picked].map(uidOf);
  };
}
