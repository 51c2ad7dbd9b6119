import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Domain, Store } from 'intentbook';
import { formatLine, type OrderLine, orderLine, parseLine, type Trailer } from './book-file.ts';
import { addToRanges, getGaps, isOlder, type OrderGap, type OrderKey, type OrderRange } from './export-ranges.ts';
import { nameFile, openOutput, STANDARD_OUTPUT } from './output.ts';
import type { Progress } from './progress.ts';
import { readLines } from './read-file.ts';
import { countOrders, readPages } from './walk.ts';

export interface Exported extends Trailer {
  /** Orders that an interrupted export had already written. */
  readonly resumed: number;
  /** Orders placed on chain, which are not exported. */
  readonly left: number;
}

/**
 * Writes all orders of a store to a file or to the standard output, newest first. An incomplete file is continued after
 * its last complete line.
 * Then it also receives the orders that were created since it was begun, and a second line of each order that was
 * cancelled since its first one.
 *
 * @throws Error if the file is complete, belongs to another domain, or is not a regular file.
 */
export async function exportBook(store: Store, domain: Domain, path: string, progress: Progress): Promise<Exported> {
  const { chainId, settlementContract } = domain;
  const isNew = path === STANDARD_OUTPUT || !existsSync(path);
  // An incomplete file is read before it is continued. A pipe would be read without end.
  const found = isNew ? undefined : await stat(path);
  if (found?.isFile() === false) throw new Error(`"${path}" must be a regular file`);
  const begun: Begun = isNew ? { end: 0, orders: 0, ranges: [], cancelled: new Set() } : await lookAt(path, domain);
  const output = await openOutput(path, begun.end, found?.size);
  try {
    const hash = createHash('sha256');
    if (begun.end > 0) for await (const { text } of readLines(path)) hash.update(`${text}\n`);
    const write = async (text: string) => {
      hash.update(text);
      await output.write(text);
    };
    if (begun.end === 0) await write(formatLine({ intentbook: 1, chainId, settlementContract }));
    let { orders } = begun;
    let left = 0;
    const total = await countOrders(store);
    const gaps = getGaps(begun.ranges).map(({ after, until }) => ({ after, until: until && lowered(until) }));
    const written = await readWritten(path, gaps);
    for (const { after, until } of gaps) {
      for await (const listed of readPages(store, after)) {
        const newer = until === undefined ? listed : listed.filter((order) => isOlder(order, until));
        const page = newer.filter(({ uid }) => !written.has(uid));
        // Listings do not include quotes.
        const whole = new Map((await store.orders.get(page.map(({ uid }) => uid))).map((order) => [order.uid, order]));
        const lines = page.flatMap(({ uid }) => {
          const order = whole.get(uid);
          return order === undefined || order.placement !== null ? [] : [orderLine(order)];
        });
        await write(lines.join(''));
        for (const order of page) if (isOverlapped(order, gaps)) written.add(order.uid);
        orders += lines.length;
        left += page.length - lines.length;
        progress.at(orders + left, total);
        if (newer.length < listed.length) break;
      }
    }
    for await (const lines of readCancelled(store, path, begun)) {
      await write(lines.join(''));
      orders += lines.length;
    }
    const trailer: Trailer = { orders, sha256: hash.digest('hex') };
    await output.write(formatLine(trailer));
    await output.sync();
    return { ...trailer, resumed: begun.orders, left };
  } catch (error) {
    throw nameFile(path, error);
  } finally {
    await output.close();
  }
}

/** Milliseconds by which an order may be stored after its creation date, such as by a process with another clock. */
const LATE = 60_000;

/** Returns the position before all orders that may be stored after an order of this creation date. */
const lowered = ({ creationDate }: OrderKey): OrderKey => ({ creationDate: creationDate - LATE, uid: '0x' });

/** Returns whether an order may be in a gap although it was written. */
function isOverlapped({ creationDate }: Pick<OrderKey, 'creationDate'>, gaps: readonly OrderGap[]): boolean {
  return gaps.some(
    ({ until }) => until && creationDate >= until.creationDate && creationDate <= until.creationDate + LATE,
  );
}

/** Reads the orders of a file that gaps overlap. */
async function readWritten(path: string, gaps: readonly OrderGap[]): Promise<Set<string>> {
  const uids = new Set<string>();
  if (gaps.every(({ until }) => until === undefined)) return uids;
  for await (const { text } of readLines(path)) {
    const line = parseLine(text);
    if ('creationDate' in line && isOverlapped(line, gaps)) uids.add(line.uid);
  }
  return uids;
}

/** Orders that are compared with the store in one step. */
const GROUP = 500;

/** Reads the orders of the begun file that were cancelled after they had been written. Each has one second line. */
async function* readCancelled(store: Store, path: string, begun: Begun): AsyncGenerator<readonly string[]> {
  if (begun.end === 0) return;
  let open = new Set<OrderKey['uid']>();
  const readGroup = async () => {
    const orders = open.size === 0 ? [] : await store.orders.get([...open]);
    open = new Set();
    return orders.filter(({ state }) => state === 'cancelled').map(orderLine);
  };
  for await (const { text, end } of readLines(path)) {
    if (end > begun.end) break;
    const line = parseLine(text);
    if ('cancelled' in line && !begun.cancelled.has(line.uid)) open.add(toKey(line).uid);
    if (open.size >= GROUP) yield await readGroup();
  }
  yield await readGroup();
}

function toKey({ creationDate, uid }: OrderLine): OrderKey {
  return { creationDate, uid: uid as OrderKey['uid'] }; // as it was exported
}

/** A file whose export was interrupted. */
interface Begun {
  /** End of its last complete line, in bytes. */
  readonly end: number;
  /** Number of the lines of orders. */
  readonly orders: number;
  readonly ranges: readonly OrderRange[];
  /** UIDs of the orders that a line describes as cancelled. */
  readonly cancelled: ReadonlySet<string>;
}

/** Reads the file of an export that was interrupted. */
async function lookAt(path: string, { chainId, settlementContract }: Domain): Promise<Begun> {
  let orders = 0;
  let whole = 0;
  const ranges: OrderRange[] = [];
  const cancelled = new Set<string>();
  for await (const { text, end } of readLines(path)) {
    const line = parseLine(text);
    if ('sha256' in line) throw new Error(`the file "${path}" is already complete`);
    if ('intentbook' in line) {
      if (line.chainId !== chainId || line.settlementContract !== settlementContract) {
        throw new Error(`the file "${path}" belongs to another book, of chain ${line.chainId}`);
      }
    } else if (whole === 0) throw new Error(`the file "${path}" is not an export`);
    else {
      orders++;
      addToRanges(ranges, toKey(line));
      if (line.cancelled) cancelled.add(line.uid);
    }
    whole = end;
  }
  return { end: whole, orders, ranges, cancelled };
}
