import assert from 'node:assert/strict';
import type { AccountStore, Hex, Order, OrderBook, OrderBookOptions } from 'intentbook';
import { createOrderBook } from 'intentbook';
import type { Accounts, AccountsOptions, Notification } from 'intentbook/accounts';
import { createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import type { Happening } from '../../support/chain-events.ts';
import { blockOf, eventsIn } from '../../support/chain-events.ts';
import type { ManualClock } from '../../support/clock.ts';
import { manualClock } from '../../support/clock.ts';
import type { OrderChoice } from '../../support/orders.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';

export const ALICE = account(1);
export const ALICES = ALICE.address.toLowerCase() as Hex;

/** A book and its account interface on a manual clock. */
export interface AccountFixture extends AsyncDisposable {
  readonly clock: ManualClock;
  readonly book: OrderBook;
  readonly store: AccountStore;
  readonly accounts: Accounts;
  readonly failures: unknown[];
  /** Submits an order of Alice, valid for ten minutes. */
  order(choice?: OrderChoice, changes?: object): Promise<Order>;
  /** Applies one block to the book. */
  applyBlock(number: number, happenings: readonly Happening[], fork?: string): Promise<void>;
  /** Waits until the event log of the book is processed. */
  settled(): Promise<void>;
  /** Returns the notifications of an account, oldest first. */
  listNotifications(account?: string): Promise<Notification[]>;
}

export async function accountFixture(
  options: Partial<AccountsOptions> & {
    readonly bookOptions?: Partial<OrderBookOptions>;
    /** Time at the start, in milliseconds since 1970. */
    readonly now?: number;
  } = {},
): Promise<AccountFixture> {
  const { bookOptions, now, ...accountOptions } = options;
  const clock = manualClock(now);
  const book = createOrderBook({ chainId: SEPOLIA, clock, store: memoryStore(), ...bookOptions });
  const store = options.store ?? memoryAccountStore();
  const failures: unknown[] = [];
  book.on('failure', (failure) => failures.push(failure));
  const onFailure = (failure: unknown) => void failures.push(failure);
  const accounts = createAccounts({ books: [book], store, clock, onFailure, ...accountOptions });
  await book.start();
  await accounts.start();

  return {
    clock,
    book,
    store,
    accounts,
    failures,
    async order(choice = {}, changes = {}) {
      const validTo = Math.floor(clock.now() / 1000) + 600;
      const signed = await signOrder(ALICE, { sellAmount: '1000', buyAmount: '400', validTo, ...choice });
      const result = await book.orders.submit({ ...signed, ...changes });
      if (result.status !== 'accepted') throw result.error;
      const order = await book.orders.get(result.uid);
      assert.ok(order);
      return order;
    },
    async applyBlock(number, happenings, fork) {
      const through = blockOf(number, fork);
      const outcome = await book.chain.apply({ events: eventsIn(through, happenings), through });
      assert.equal(outcome.status, 'applied');
    },
    settled: () => settle(book, store),
    async listNotifications(who = ALICES) {
      await settle(book, store);
      return (await accounts.notifications.list(who)).notifications.reverse();
    },
    async [Symbol.asyncDispose]() {
      await accounts.close();
      await book.close();
    },
  };
}

/** Modules that are loaded on first use take long on a busy machine. */
const MAX_TURNS_MS = 15_000;

/** Waits for ticks of the event loop until running work has settled. */
export async function turns(done: () => Promise<boolean> | boolean): Promise<void> {
  const end = performance.now() + MAX_TURNS_MS;
  while (performance.now() < end) {
    if (await done()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error('it does not come to rest');
}

export function settle(book: OrderBook, store: AccountStore): Promise<void> {
  const feed = `log ${book.chainId} ${book.settlementContract}`;
  return turns(async () => ((await store.notifications.cursor(feed)) ?? 0) === (await book.log.last()));
}
