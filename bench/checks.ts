import type { Address, Hex } from 'intentbook';

/** Returns a check that an outcome is this number, such as a number of orders. */
export function expectCount(expected: number): (actual: number) => void {
  return (actual) => {
    if (actual !== expected) throw new Error(`the work must result in ${expected}, got ${actual}`);
  };
}

/**
 * Creates a check of response bodies: one order or a list of orders, whose number is the same in each body.
 *
 * The first body is parsed and must have exactly these UIDs. All orders of a file have texts of equal length, so that
 * each other body must have the length of the first and contain its first UID, which takes little time.
 */
export function createBodyCheck(): (body: Uint8Array, uids: readonly Hex[]) => void {
  let length: number | undefined;
  return (body, uids) => {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    if (length === undefined) {
      checkBody(bytes, uids);
      length = bytes.length;
    }
    if (bytes.length !== length) throw new Error(`the response must have ${length} bytes, got ${bytes.length}`);
    const [first] = uids;
    if (first !== undefined && !bytes.includes(first)) throw new Error(`the response must contain ${first}`);
  };
}

/** Checks that a response body has exactly these orders. It parses the body. */
export function checkBody(body: Uint8Array, uids: readonly Hex[]): void {
  assertUids(getUids(JSON.parse(Buffer.from(body).toString())), uids);
}

type Order = { readonly uid: string };

/** Returns the UIDs of an order, of a list, or of a list of `by_uids`. */
function getUids(response: Order | readonly (Order & { readonly order?: Order })[]): string[] {
  return 'uid' in response ? [response.uid] : response.map(({ order, uid }) => order?.uid ?? uid);
}

function assertUids(actual: readonly string[], uids: readonly Hex[]): void {
  const found = new Set(actual);
  if (actual.length === uids.length && uids.every((uid) => found.has(uid))) return;
  throw new Error(`the response must contain the ${uids.length} requested orders, got ${actual.length} orders`);
}

/** Checks the number of rows, and that the first column of the first is one of the UIDs. */
export function checkRows(rows: readonly unknown[], uids: readonly Hex[]): void {
  if (rows.length !== uids.length) throw new Error(`the query must return ${uids.length} rows, got ${rows.length}`);
  const [row] = rows as readonly (readonly [uid: Hex])[]; // see `orderColumns`
  if (row !== undefined && !uids.includes(row[0])) throw new Error(`the query has returned another order, ${row[0]}`);
}

/** Checks that the orders are those requested. */
export function checkOrders(orders: readonly Order[], uids: readonly Hex[]): void {
  assertUids(
    orders.map(({ uid }) => uid),
    uids,
  );
}

/** Checks that the UIDs of orders belong to an owner. */
export function checkOwner(orders: readonly Order[], owner: Address): void {
  for (const { uid } of orders) {
    if (uid.slice(66, 106) !== owner.slice(2)) throw new Error(`the order ${uid} must belong to ${owner}`);
  }
}
