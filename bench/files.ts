import { constants, copyFileSync, createReadStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Address, Hex, OrderInsert } from 'intentbook';
import { createOrderBook, systemClock } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { sqliteStore } from 'intentbook/sqlite';
import { CHAIN_ID, DOMAIN, hashText, type Signed, signOrders } from './orders.ts';

/** Folder of the database files. It is kept between runs, because writing a million orders takes minutes. */
const FOLDER = join(tmpdir(), 'intentbook-bench');

/** Version of the content that is written below. A file of an older version is not used. */
const VERSION = 3;

/** Returns the path of a temporary file, which is deleted when the process exits. */
export function scratchFile(name: string): string {
  mkdirSync(FOLDER, { recursive: true });
  const path = join(FOLDER, `scratch-${process.pid}-${name}.sqlite`);
  process.once('exit', () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
  });
  return path;
}

/**
 * Returns the path of a database file with open orders. The store writes it on first use.
 *
 * @param lane - Name of a writable copy, because a file has one writer at a time. Default: the read-only original.
 */
export async function orderFile(count: number, lane?: string): Promise<string> {
  mkdirSync(FOLDER, { recursive: true });
  const original = join(FOLDER, `orders-${count}-${VERSION}.sqlite`);
  if (!existsSync(original)) await write(original, count);
  if (lane === undefined) return readIntoCache(original);
  const path = join(FOLDER, `orders-${count}-${VERSION}-${lane}.sqlite`);
  if (!existsSync(path)) {
    copyFileSync(original, `${path}.part`, constants.COPYFILE_FICLONE);
    renameSync(`${path}.part`, path);
  }
  return readIntoCache(path);
}

/** Reads a file once, so that it is in the page cache for every subject. */
async function readIntoCache(path: string): Promise<string> {
  for await (const _ of createReadStream(path, { highWaterMark: 1 << 20 }));
  return path;
}

const BATCH = 1000;

async function write(path: string, count: number): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  const store = sqliteStore({ path: part, synchronous: 'OFF' });
  const model = await createModelOrder();
  await store.open({ domain: DOMAIN, clock: systemClock });
  for (let start = 0; start < count; start += BATCH) {
    const size = Math.min(BATCH, count - start);
    await store.orders.insert(Array.from({ length: size }, (_, i) => createStoredOrder(model, start + i)));
  }
  await store.close();
  renameSync(part, path);
}

/** Returns an order as the engine passes it to a store. */
export async function createModelOrder(): Promise<OrderInsert> {
  const [model] = await toInserts(await signOrders('model', 0, 1));
  if (model === undefined) throw new Error('no order was signed');
  return model;
}

/** Returns orders as the engine passes them to a store, after all its checks. */
export async function toInserts(orders: readonly Signed[]): Promise<readonly OrderInsert[]> {
  const captured: OrderInsert[] = [];
  const { orders: inner, ...store } = memoryStore();
  const insert: typeof inner.insert = (inserts, options) => {
    captured.push(...inserts);
    return inner.insert(inserts, options);
  };
  await using book = createOrderBook({
    chainId: CHAIN_ID,
    limits: { maxOpenOrders: orders.length },
    store: { ...store, orders: { ...inner, insert } },
  });
  await book.start();
  const results = await book.orders.submitMany(orders.map(({ order }) => order));
  if (results.some(({ status }) => status !== 'accepted')) throw new Error('an order was rejected');
  return captured;
}

/** Year 2096, so that the orders in the files do not expire. */
export const VALID_TO = 4_000_000_000;
const FIRST_CREATED = 1_700_000_000_000;
const OWNERS = 10_000;
const TOKENS = 20;

/** Returns the UID of an order by its index, the same in every file. */
export function getUid(index: number): Hex {
  const digest = hashText(`order ${index}`).toString('hex');
  return `0x${digest}${getOwner(index).slice(2)}${VALID_TO.toString(16)}`;
}

export function getOwner(index: number): Address {
  return `0x${hashText(`owner ${(index * 7919) % OWNERS}`).toString('hex', 0, 20)}`;
}

export function getCreationDate(index: number): number {
  return FIRST_CREATED + index * 20;
}

export function getToken(index: number): Address {
  return `0x${hashText(`token ${index % TOKENS}`).toString('hex', 0, 20)}`;
}

function createStoredOrder({ order: model, ...rest }: OrderInsert, index: number): OrderInsert {
  const [uid, owner, sellToken] = [getUid(index), getOwner(index), getToken(index)];
  const creationDate = getCreationDate(index);
  // The text that the engine rendered, with the values that differ between orders replaced.
  const body = model.body
    .replace(model.uid, uid)
    .replace(model.sellToken, sellToken)
    .replace(model.owner, owner)
    .replace(String(model.validTo), String(VALID_TO))
    .replace(new Date(model.creationDate).toISOString(), new Date(creationDate).toISOString());
  return { ...rest, order: { ...model, uid, owner, sellToken, creationDate, validTo: VALID_TO, body } };
}
