import type { Api } from 'intentbook';
import { type AccountApiOptions, type Accounts, createAccountApi } from 'intentbook/accounts';
import type { Mounted } from './server-api.ts';

/** Account paths below a chain id, also a malformed one, which the account interface rejects. */
const BELOW_CHAIN =
  /^\/[^/]+\/(?:accounts\/[^/]+\/balances(?:\/sse)?|address\/[^/]+\/balances|tokens\/(?:[^/]+\/(?:usdPrice|details|topHolders)|details)|yield\/(?:pools|pools-average-apr)|simulation\/simulateBundle|markets\/[^/]+\/(?:slippageTolerance|volatilityDetails))\/?$/;

/** Mounts the account interface at the root. Without accounts, its routes respond 503. */
export function mountAccounts(accounts: Accounts | undefined, options: AccountApiOptions): Mounted {
  const { handle, handlesPath }: Api = createAccountApi(accounts, options);
  return {
    path: '/',
    api: { handle, handlesPath: (path) => BELOW_CHAIN.test(path) || handlesPath?.(path) === true },
    aside: true,
  };
}
