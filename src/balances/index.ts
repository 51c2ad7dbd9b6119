/**
 * Balances and allowances, read through the chain client.
 *
 * @module
 */

export type { BalanceApi, BalanceCallOptions, TokenBalance } from './balance-api.ts';
export { createBalances } from './balances.ts';
