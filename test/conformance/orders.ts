import type { Address, Hex, NewDocument, NewOrder, Store } from 'intentbook';

/** Creation date of the orders of the suite, in milliseconds, and in seconds as validity counts. */
export const PLACED_AT = 1_700_000_000_000;
export const NOW = PLACED_AT / 1000;

export const ALICE = address(0xa11ce);
export const BOB = address(0xb0b);
export const WETH = address(0xe7);
export const USDC = address(0xc0);
export const DAI = address(0xda1);

/** App data hash of orders whose document is not relevant. */
export const NO_DOCUMENT = word(0);

export function address(n: number): Address {
  return `0x${n.toString(16).padStart(40, '0')}`;
}

export function word(n: number): Hex {
  return `0x${n.toString(16).padStart(64, '0')}`;
}

/** Returns a UID whose digest begins with `n` in 32 bits, so that UIDs sort like their numbers. */
export function uid(n: number, owner: Address = ALICE, validTo = 0): Hex {
  const digest = n.toString(16).padStart(8, '0').padEnd(64, '0');
  return `0x${digest}${owner.slice(2)}${validTo.toString(16).padStart(8, '0')}`;
}

/** Returns an open order of Alice, valid for an hour. Orders with different numbers have different UIDs. */
export function order(n: number, changes: Partial<NewOrder> = {}): NewOrder {
  const owner = changes.owner ?? ALICE;
  const validTo = changes.validTo ?? NOW + 3600;
  return {
    uid: uid(n, owner, validTo),
    owner,
    creationDate: PLACED_AT,
    sellToken: WETH,
    buyToken: USDC,
    signingScheme: 'eip712',
    validTo,
    state: 'open',
    quotaClass: 'open',
    appData: NO_DOCUMENT,
    body: JSON.stringify({ sellAmount: String(n), kind: 'sell' }),
    ...changes,
  };
}

/** Returns an order that waits for its presignature. */
export function presignOrder(n: number, changes: Partial<NewOrder> = {}): NewOrder {
  return order(n, { signingScheme: 'presign', state: 'presignaturePending', quotaClass: 'pending', ...changes });
}

export function document(n: number, text: string): NewDocument {
  return { hash: word(n), document: text };
}

/** Inserts orders that must be accepted. */
export async function place(store: Store, ...orders: NewOrder[]): Promise<void> {
  const outcomes = await store.orders.insert(orders.map((each) => ({ order: each })));
  const rejected = outcomes.find(({ status }) => status !== 'inserted');
  if (rejected !== undefined) throw new Error(`the suite's own order was not inserted: ${rejected.status}`);
}

/** Returns the numbers from 0. */
export function range(length: number): number[] {
  return Array.from({ length }, (_, i) => i);
}
