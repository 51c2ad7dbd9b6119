import { open, stat } from 'node:fs/promises';
import type { Domain, Hex, Store, StoredOrder } from 'intentbook';
import { type OrderLine, orderLine, parseLine, toImportedOrder } from './book-file.ts';
import type { Progress } from './progress.ts';
import { readLines } from './read-file.ts';
import { quoteArgument } from './shell-argument.ts';

export interface Imported {
  /** Orders in the file. */
  readonly orders: number;
  /** Orders that were new. */
  readonly inserted: number;
  readonly cancelled: number;
  readonly sha256: string;
}

/** Orders per step. */
const GROUP = 128;

/**
 * Imports the orders of a file that `exportBook` has written, oldest first. Nothing is written before the whole file
 * matches its count and its digest. Stored orders are read back and compared. An interrupted import can be run again:
 * existing orders are skipped.
 *
 * @throws Error naming the problem of the file, or the first order that differs.
 */
export async function importBook(store: Store, domain: Domain, path: string, progress: Progress): Promise<Imported> {
  const { ends, sha256 } = await checkFile(path, domain);
  const orders = ends.length - 1;
  let inserted = 0;
  let cancelled = 0;
  const file = await open(path, 'r');
  try {
    // The oldest orders are at the end of the file.
    for (let to = orders; to > 0; to -= GROUP) {
      const from = Math.max(0, to - GROUP);
      const [begin = 0, end = 0] = [ends[from], ends[to]];
      const bytes = Buffer.alloc(end - begin);
      await file.read(bytes, 0, bytes.length, begin);
      const lines = bytes.toString('utf8').trimEnd().split('\n').reverse();
      const done = await store128(store, lines);
      inserted += done.inserted;
      cancelled += done.cancelled;
      progress.at(orders - from, orders);
    }
  } finally {
    await file.close();
  }
  return { orders, inserted, cancelled, sha256 };
}

/** Compares a file with its count and digest. Returns the end of each line, the header first. */
async function checkFile(path: string, domain: Domain): Promise<{ ends: number[]; sha256: string }> {
  if (!(await stat(path)).isFile()) throw new Error(`"${path}" is not a file`);
  await assertPlain(path);
  const ends: number[] = [];
  let finished: string | undefined;
  for await (const { text, end, digest } of readLines(path)) {
    if (finished !== undefined) throw new Error(`the file "${path}" continues after its trailer`);
    const line = parseLine(text);
    if ('intentbook' in line) {
      const same = line.chainId === domain.chainId && line.settlementContract === domain.settlementContract;
      if (!same)
        throw new Error(`the file "${path}" belongs to chain ${line.chainId}, contract ${line.settlementContract}`);
    } else if ('sha256' in line) {
      if (line.orders !== ends.length - 1) {
        throw new Error(`the file "${path}" must have ${line.orders} orders, got ${ends.length - 1}`);
      }
      if (line.sha256 !== digest()) throw new Error(`the file "${path}" was changed: its digest differs`);
      finished = line.sha256;
      continue;
    }
    if (ends.length === 0 && !('intentbook' in line)) throw new Error(`the file "${path}" is not an export`);
    ends.push(end);
  }
  if (finished === undefined) throw new Error(`the file "${path}" is incomplete: run the export again`);
  return { ends, sha256: finished };
}

/** @throws Error if a file is compressed. */
async function assertPlain(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
    if (buffer.readUInt16BE() === GZIP)
      throw new Error(`the file "${path}" is compressed; run "gunzip ${quoteArgument(path)}" first`);
  } finally {
    await file.close();
  }
}

/** First bytes of a file of gzip (RFC 1952). */
const GZIP = 0x1f8b;

async function store128(store: Store, texts: readonly string[]): Promise<{ inserted: number; cancelled: number }> {
  const lines = texts.map((text) => parseLine(text) as OrderLine); // `checkFile` has checked their kind
  const outcomes = await store.orders.insert(lines.map(toImportedOrder));
  const stored = await byUid(store, lines);
  const uids = lines
    .filter(({ uid, cancelled }) => cancelled && stored.get(uid)?.state !== 'cancelled')
    .map(({ uid }) => uid as Hex); // as it was stored
  // At time 0, so that expired orders can be cancelled too.
  const outcome = uids.length === 0 ? undefined : await store.orders.cancel({ uids, now: 0, cancelledAt: Date.now() });
  if (outcome?.status === 'rejected')
    throw new Error(`order ${outcome.uid} cannot be cancelled here: ${outcome.reason}`);
  const after = await byUid(store, lines);
  for (const [i, line] of lines.entries()) {
    const order = after.get(line.uid);
    if (order === undefined) throw new Error(`order ${line.uid} is missing after it was stored`);
    // Chain events may differ: they are not compared.
    const comparable: StoredOrder = line.cancelled ? order : { ...order, state: 'open' };
    if (orderLine(comparable).trimEnd() !== texts[i])
      throw new Error(`order ${line.uid} differs from the stored order`);
  }
  return { inserted: outcomes.filter(({ status }) => status === 'inserted').length, cancelled: uids.length };
}

async function byUid(store: Store, lines: readonly OrderLine[]): Promise<Map<string, StoredOrder>> {
  const orders = await store.orders.get(lines.map(({ uid }) => uid as Hex)); // as it was stored
  return new Map(orders.map((order) => [order.uid, order]));
}
