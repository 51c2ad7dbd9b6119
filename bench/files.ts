import { constants, copyFileSync, createReadStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Address, Hex, OrderInsert } from 'intentbook';
import { createOrderBook, systemClock } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { sqliteStore } from 'intentbook/sqlite';
import { CHAIN_ID, DOMAIN, hashText, type Signed, signOrders } from './orders.ts';

/** Folder of the database files. It is kept between runs, because writing a million orders takes minutes. */
const FOLDER = join(tmpdir(), 'intentbook-bench');

/** Returns the path of a temporary file, which is deleted when the process exits. */
export function scratchFile(name: string): string {
  mkdirSync(FOLDER, { recursive: true });
  const path = join(FOLDER, `scratch-${process.pid}-${name}.sqlite`);
  if (scratchFiles.size === 0) process.once('exit', removeScratchFiles);
  scratchFiles.add(path);
  return path;
}

const scratchFiles = new Set<string>();

function removeScratchFiles(): void {
  for (const path of scratchFiles) {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
  }
}

/**
 * Returns the path of a database file with open orders. The store writes it on first use.
 *
 * @param lane - Name of a copy that one subject at a time reads as a book. Default: the read-only original.
 */
export async function orderFile(count: number, lane?: string): Promise<string> {
  mkdirSync(FOLDER, { recursive: true });
  identity ??= computeIdentity();
  const original = join(FOLDER, `orders-${count}-${await identity}.sqlite`);
  if (!existsSync(original)) await write(original, count);
  const path = lane === undefined ? original : original.replace(/\.sqlite$/, `-${lane}.sqlite`);
  if (!existsSync(path)) {
    const part = scratchFile('part');
    copyFileSync(original, part, constants.COPYFILE_FICLONE);
    renameSync(part, path);
  }
  assertOrders(path, count);
  return readIntoCache(path);
}

/** Copies a database file with open orders to a temporary file, for a subject that changes them. */
export async function copyOrderFile(count: number, name: string): Promise<string> {
  const path = scratchFile(name);
  copyFileSync(await orderFile(count), path, constants.COPYFILE_FICLONE);
  return path;
}

/** Reads a file once, so that it is in the page cache for every subject. */
async function readIntoCache(path: string): Promise<string> {
  for await (const _ of createReadStream(path, { highWaterMark: 1 << 20 }));
  return path;
}

function assertOrders(path: string, count: number): void {
  const database = new Database(path, { readonly: true });
  const found = database.prepare('SELECT count(*) FROM orders').pluck().get();
  database.close();
  if (found !== count) throw new Error(`${path} must contain ${count} orders, got ${found}`);
}

let identity: Promise<string> | undefined;

/**
 * Returns a hash of the schema and of all rows of a small file. Another version of the code that writes the files has
 * another hash as soon as it writes something else, so that it does not use a file of this version.
 */
async function computeIdentity(): Promise<string> {
  const path = scratchFile('identity');
  await writeOrders(path, 8, OWNERS / 2); // two owners with four orders each
  const database = new Database(path, { readonly: true });
  const entries = database.prepare('SELECT name, type, sql FROM sqlite_master ORDER BY type, name').raw().all();
  const tables = (entries as [name: string, type: string][]).filter(([, type]) => type === 'table'); // as selected
  const rows = tables.map(([name]) => database.prepare(`SELECT * FROM "${name}"`).raw().all());
  database.close();
  return hashText(JSON.stringify([entries, rows])).toString('hex', 0, 6);
}

const BATCH = 1000;

async function write(path: string, count: number): Promise<void> {
  const part = scratchFile('part');
  await writeOrders(part, count);
  renameSync(part, path);
}

/** Writes the orders with the indexes 0, `step`, 2 * `step` and so on. */
async function writeOrders(path: string, count: number, step = 1): Promise<void> {
  const store = sqliteStore({ path, synchronous: 'OFF' });
  const model = { ...(await createModelOrder()), quota: count };
  await store.open({ domain: DOMAIN, clock: systemClock });
  for (let start = 0; start < count; start += BATCH) {
    const size = Math.min(BATCH, count - start);
    const inserts = Array.from({ length: size }, (_, i) => createStoredOrder(model, (start + i) * step));
    assertInserted(await store.orders.insert(inserts), size);
  }
  await store.close();
}

/** Throws if a store has rejected an order. */
export function assertInserted(outcomes: readonly { readonly status: string }[], count: number): void {
  const inserted = outcomes.filter(({ status }) => status === 'inserted');
  if (inserted.length !== count) throw new Error(`${inserted.length} of ${count} orders were inserted`);
}

/**
 * Returns an order as the engine passes it to a store, the same in every process.
 *
 * Its quota is that of an owner without other orders.
 */
export async function createModelOrder(): Promise<OrderInsert> {
  const signed = await signOrders('model', 0, 1, FIRST_CREATED / 1000 + 86_400);
  const [model] = await toInserts(signed, { ...systemClock, now: () => FIRST_CREATED });
  if (model === undefined) throw new Error('no order was signed');
  return model;
}

/** Returns orders as the engine passes them to a store, after all its checks. */
export async function toInserts(orders: readonly Signed[], clock = systemClock): Promise<readonly OrderInsert[]> {
  const captured: OrderInsert[] = [];
  const { orders: inner, ...store } = memoryStore();
  const insert: typeof inner.insert = (inserts, options) => {
    captured.push(...inserts);
    return inner.insert(inserts, options);
  };
  await using book = createOrderBook({
    chainId: CHAIN_ID,
    clock,
    limits: { maxOpenOrders: orders.length },
    store: { ...store, orders: { ...inner, insert } },
  });
  await book.start();
  const results = await book.orders.submitMany(orders.map(({ order }) => order));
  assertAccepted(results, orders.length);
  return captured;
}

/** Throws if a book has rejected an order. */
export function assertAccepted(results: readonly { readonly status: string }[], count: number): void {
  const accepted = results.filter(({ status }) => status === 'accepted');
  if (accepted.length !== count) throw new Error(`${accepted.length} of ${count} orders were accepted`);
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
