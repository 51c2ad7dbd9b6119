import type { OrderBookOptions } from 'intentbook';
import { createOrderBook } from 'intentbook';
import type { AccountsOptions } from 'intentbook/accounts';
import { createAccountApi, createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { onTestFinished } from 'vitest';
import { described } from '../../integration/http/described.ts';
import { directFixture } from '../../integration/http/http-fixture.ts';
import { manualClock } from '../../support/clock.ts';
import { SEPOLIA } from '../../support/orders.ts';

/** Creates the account interface of one book in memory, on a manual clock. It is closed at the end of the test. */
export async function accountFixture(
  options: Omit<AccountsOptions, 'books' | 'store'> & Partial<Pick<AccountsOptions, 'store'>> = {},
  bookOptions: Partial<OrderBookOptions> = {},
) {
  const clock = manualClock();
  const failures: unknown[] = [];
  const onFailure = (failure: unknown) => void failures.push(failure);
  const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), clock, ...bookOptions });
  book.on('failure', onFailure);
  const store = options.store ?? memoryAccountStore();
  const accounts = createAccounts({ books: [book], clock, onFailure, ...options, store });
  await book.start();
  await accounts.start();
  onTestFinished(async () => {
    await accounts.close();
    await book.close();
  });
  const api = createAccountApi(accounts);
  return { accounts, book, store, clock, failures, api, ...described(directFixture(api, () => clock.now() / 1000)) };
}
