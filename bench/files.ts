import { constants, copyFileSync, createReadStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Address, Hex, OrderInsert } from 'intentbook';
import { createOrderBook, systemClock } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { sqliteStore } from 'intentbook/sqlite';
import { CHAIN_ID, DOMAIN, digestOf, signOrders } from './orders.ts';

/** Stays from run to run: a million orders take minutes to be written. */
const FOLDER = join(tmpdir(), 'intentbook-bench');

/** Changes with what is written below, so that an older file is not taken for a new one. */
const EDITION = 1;

/** A file that goes when the process does. */
export function scratchFile(name: string): string {
  mkdirSync(FOLDER, { recursive: true });
  const path = join(FOLDER, `scratch-${process.pid}-${name}.sqlite`);
  process.once('exit', () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
  });
  return path;
}

/**
 * A database file with this many open orders, written by the store when there is none yet.
 *
 * @param lane for whom: a file has one writer at a time, so that each book of a trial has its own copy. Absent: for
 * reading only.
 */
export async function orderFile(count: number, lane?: string): Promise<string> {
  mkdirSync(FOLDER, { recursive: true });
  const first = join(FOLDER, `orders-${count}-${EDITION}.sqlite`);
  if (!existsSync(first)) await write(first, count);
  if (lane === undefined) return inMemory(first);
  const path = join(FOLDER, `orders-${count}-${EDITION}-${lane}.sqlite`);
  if (!existsSync(path)) {
    copyFileSync(first, `${path}.part`, constants.COPYFILE_FICLONE);
    renameSync(`${path}.part`, path);
  }
  return inMemory(path);
}

/** Reads a file once, so that the system has it in memory, and no subject waits for a disk that another does not wait for. */
async function inMemory(path: string): Promise<string> {
  for await (const _ of createReadStream(path, { highWaterMark: 1 << 20 }));
  return path;
}

const BATCH = 1000;

async function write(path: string, count: number): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  const store = sqliteStore({ path: part, synchronous: 'OFF' });
  const model = await modelOrder();
  await store.open({ domain: DOMAIN, clock: systemClock });
  for (let start = 0; start < count; start += BATCH) {
    const size = Math.min(BATCH, count - start);
    await store.orders.insert(Array.from({ length: size }, (_, i) => storedOrder(model, start + i)));
  }
  await store.close();
  renameSync(part, path);
}

/** An order as the engine hands it to a store. */
export async function modelOrder(): Promise<OrderInsert> {
  const [signed] = await signOrders('model', 0, 1);
  if (signed === undefined) throw new Error('no order was signed');
  let seen: OrderInsert | undefined;
  const store = memoryStore();
  const orders = {
    ...store.orders,
    insert: async (...[inserts, options]: Parameters<typeof store.orders.insert>) => {
      [seen] = inserts;
      return store.orders.insert(inserts, options);
    },
  };
  await using book = createOrderBook({ chainId: CHAIN_ID, store: { ...store, orders } });
  await book.start();
  await book.orders.submit(signed.order);
  if (seen === undefined) throw new Error('the model of all orders was rejected');
  return seen;
}

/** 2096, so that the files last. */
export const VALID_TO = 4_000_000_000;
const FIRST_CREATED = 1_700_000_000_000;
const OWNERS = 10_000;
const TOKENS = 20;

/** The n-th order of every file, whoever asks. */
export function uidOf(index: number): Hex {
  const digest = digestOf(`order ${index}`).toString('hex');
  return `0x${digest}${ownerOf(index).slice(2)}${VALID_TO.toString(16)}`;
}

export function ownerOf(index: number): Address {
  return `0x${digestOf(`owner ${(index * 7919) % OWNERS}`).toString('hex', 0, 20)}`;
}

export function createdAt(index: number): number {
  return FIRST_CREATED + index * 20;
}

export function tokenOf(index: number): Address {
  return `0x${digestOf(`token ${index % TOKENS}`).toString('hex', 0, 20)}`;
}

function storedOrder({ order: model, ...rest }: OrderInsert, index: number): OrderInsert {
  const [uid, owner, sellToken, creationDate] = [uidOf(index), ownerOf(index), tokenOf(index), createdAt(index)];
  // Text for text: the engine's own rendering, with what differs from order to order put in its place.
  const body = model.body
    .replace(model.uid, uid)
    .replace(model.sellToken, sellToken)
    .replace(model.owner, owner)
    .replace(String(model.validTo), String(VALID_TO))
    .replace(new Date(model.creationDate).toISOString(), new Date(creationDate).toISOString());
  return { ...rest, order: { ...model, uid, owner, sellToken, creationDate, validTo: VALID_TO, body } };
}
