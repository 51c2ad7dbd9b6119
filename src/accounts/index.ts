/**
 * The account interface of any number of books.
 *
 * @module
 */

export type { AccountBalances } from './account-balances.ts';
export { createAccounts } from './accounts.ts';
export type { Accounts } from './accounts-api.ts';
export type { AccountsOptions } from './accounts-options.ts';
export type { BalanceEvent, BalanceUpdate } from './balance-watch.ts';
export type {
  AccountOrder,
  AccountOrderPage,
  AccountTrade,
  AccountTradePage,
  HistoryApi,
  HistoryQuery,
} from './history/history-api.ts';

export { HISTORY_FILTERS } from './history/history-api.ts';

export const loadHistoryCsv = () => import('./history/csv.ts');
