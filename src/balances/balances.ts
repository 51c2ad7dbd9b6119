import { lazy } from '../concurrency/lifecycle.ts';
import type { BalanceApi } from '../records/balance-api.ts';
import type { BalancesContext } from './balance-reader.ts';

/** Creates the balance methods of a book. The code that queries the chain is loaded on first use. */
export function createBalances(context: BalancesContext): BalanceApi {
  const { chain } = context;
  const reader = lazy(async () => (await import('./balance-reader.ts')).createBalanceReader(context));
  return {
    available: chain?.balanceAndAllowance !== undefined || chain?.balancesAndAllowances !== undefined,
    get: (account, tokens, options) => reader.use(({ get }) => get(account, tokens, options)),
    funds: (pairs, options) => reader.use(({ funds }) => funds(pairs, options)),
    tokens: (tokens, options) => reader.use((methods) => methods.tokens(tokens, options)),
    token: (token, options) => reader.use((methods) => methods.token(token, options)),
  };
}
