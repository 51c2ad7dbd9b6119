import type { ServerPlan } from '../config/plan.ts';

/** Creates the sources of token holders and of the balances of accounts: the URLs of all books. */
export async function tokenSources(plan: ServerPlan) {
  const { alchemyTokenBalances, jsonTokenHolders } = await import('intentbook/prices');
  const [holders, balances] = [getUrls(plan, 'tokenHoldersUrl'), getUrls(plan, 'tokenBalancesUrl')];
  return {
    tokenHolders: holders === undefined ? [] : [jsonTokenHolders({ urls: holders })],
    tokenBalances: balances === undefined ? [] : [alchemyTokenBalances({ urls: balances })],
  };
}

/** Returns the URLs of a setting by chain id: that of the first book of a chain. `undefined` if no book has one. */
function getUrls({ books }: ServerPlan, name: 'tokenHoldersUrl' | 'tokenBalancesUrl') {
  const urls: Record<number, string> = {};
  for (const { chainId, settings } of books) {
    const url = settings[name];
    if (url !== undefined) urls[chainId] ??= url;
  }
  return Object.keys(urls).length === 0 ? undefined : urls;
}
