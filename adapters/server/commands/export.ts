import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Domain, Store } from 'intentbook';
import { headerLine, orderLine, parseLine, type Trailer, trailerLine } from './book-file.ts';
import type { Progress } from './progress.ts';
import { readLines } from './read-file.ts';
import { readPages } from './walk.ts';

export interface Exported extends Trailer {
  /** Orders that an interrupted export had already written. */
  readonly resumed: number;
  /** Orders placed on chain, which are not exported. */
  readonly left: number;
}

/**
 * Writes all orders of a store to a file, newest first. An incomplete file is continued after its last complete
 * line.
 *
 * @throws Error if the file is complete or belongs to another domain.
 */
export async function exportBook(store: Store, domain: Domain, path: string, progress: Progress): Promise<Exported> {
  const begun = existsSync(path) ? await lookAt(path, domain) : { end: 0, orders: 0, last: undefined };
  const file = await open(path, begun.end === 0 ? 'w' : 'r+');
  try {
    await file.truncate(begun.end);
    const hash = createHash('sha256');
    for await (const { text } of readLines(path)) hash.update(`${text}\n`);
    let at = begun.end;
    const write = async (text: string) => {
      hash.update(text);
      at += (await file.write(text, at)).bytesWritten;
    };
    if (at === 0) await write(headerLine(domain));
    let { orders } = begun;
    let left = 0;
    const total = await store.orders.total?.();
    for await (const page of readPages(store, begun.last)) {
      // Listings do not include quotes.
      const whole = new Map((await store.orders.get(page.map(({ uid }) => uid))).map((order) => [order.uid, order]));
      const lines = page.flatMap(({ uid }) => {
        const order = whole.get(uid);
        return order === undefined || order.placement !== null ? [] : [orderLine(order)];
      });
      await write(lines.join(''));
      orders += lines.length;
      left += page.length - lines.length;
      progress.at(orders + left, total);
    }
    const trailer: Trailer = { orders, sha256: hash.digest('hex') };
    await file.write(trailerLine(trailer), at);
    await file.sync();
    return { ...trailer, resumed: begun.orders, left };
  } finally {
    await file.close();
  }
}

/** Returns the position at which an export was interrupted. */
async function lookAt(path: string, { chainId, settlementContract }: Domain) {
  let orders = 0;
  let whole = 0;
  let last: { creationDate: number; uid: `0x${string}` } | undefined;
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
      last = { creationDate: line.creationDate, uid: line.uid as `0x${string}` }; // as it was exported
    }
    whole = end;
  }
  return { end: whole, orders, last };
}
