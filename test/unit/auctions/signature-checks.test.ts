import type { ChainClient, Hex, OrderBook } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { afterEach, describe, expect, test } from 'vitest';
import type { ManualClock } from '../../support/clock.ts';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';

let book: OrderBook;
let clock: ManualClock;
/** The owners whose contracts reject signatures, and those that were checked since the last call of `pass`. */
let rejecting: Set<string>;
let checked: string[];
let fails: boolean;
let failures: unknown[];

afterEach(() => book.close());

async function open(maxSignatureChecks: number): Promise<void> {
  clock = manualClock();
  [rejecting, checked, fails, failures] = [new Set(), [], false, []];
  const chain: ChainClient = {
    async isValidSignature({ owner }) {
      checked.push(owner);
      if (fails) throw new Error('the node does not respond');
      return rejecting.has(owner) ? { valid: false } : { valid: true };
    },
  };
  book = createOrderBook({ chainId: SEPOLIA, clock, store: memoryStore(), chain, auctions: { maxSignatureChecks } });
  book.on('failure', (failure) => failures.push(failure));
  await book.start();
}

/** Submits an order of a contract. */
async function submit(n: number): Promise<Hex> {
  const validTo = Math.floor(clock.now() / 1000) + 6000;
  const signed = await signOrder(account(1), { sellAmount: String(1000 + n), buyAmount: '400', validTo });
  const from = `0x${String(n).repeat(40)}`;
  const result = await book.orders.submit({ ...signed, from, signingScheme: 'eip1271', signature: '0xabcd' });
  if (result.status !== 'accepted') throw result.error;
  return result.uid;
}

/** Lets an auction check signatures, and returns the orders of the next one. */
async function pass(): Promise<readonly Hex[]> {
  checked = [];
  clock.advance(13_000);
  await book.auctions.current();
  for (let i = 0; i < 10; i++) await new Promise(setImmediate);
  return (await book.auctions.current()).orders.map(({ uid }) => uid);
}

describe('contract signature of an open order', () => {
  test('that is rejected removes the order from auctions until it is accepted again', async () => {
    await open(10);
    const [first, second] = [await submit(1), await submit(2)];
    expect(await pass()).toEqual([first, second]);
    rejecting.add(`0x${'1'.repeat(40)}`);
    expect(await pass()).toEqual([second]);
    expect((await book.auctions.selection())?.filtered.get(first)).toBe('invalidSignature');
    rejecting.clear();
    expect(await pass()).toEqual([first, second]);
  });

  test('is checked within the budget, the one that was not checked for longest first', async () => {
    await open(2);
    for (const n of [1, 2, 3]) await submit(n);
    const seen = new Set<string>();
    for (let i = 0; i < 3; i++) {
      await pass();
      for (const owner of checked) seen.add(owner);
    }
    expect(seen.size).toBe(3);
  });

  test('keeps its last result while the chain does not respond', async () => {
    await open(10);
    const [first, second] = [await submit(1), await submit(2)];
    rejecting.add(`0x${'2'.repeat(40)}`);
    expect(await pass()).toEqual([first]);
    fails = true;
    expect(await pass()).toEqual([first]);
    expect(failures.length).toBeGreaterThan(0);
    expect(second).not.toBe(first);
  });

  test('is not checked again by default', async () => {
    await open(0);
    await submit(1);
    await pass();
    expect(checked).toEqual([]);
  });
});
