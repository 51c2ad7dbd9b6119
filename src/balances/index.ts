/**
 * Balances and allowances, read through the chain client.
 *
 * @module
 */

export { createBalances } from './balances.ts';
