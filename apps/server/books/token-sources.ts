import type { TokenBalanceSource, TokenHolderSource } from 'intentbook';
import type { ServerPlan } from '../config/plan.ts';

/** Creates the source of token holders: the URLs of all books. */
export async function tokenHolderSources(plan: ServerPlan): Promise<TokenHolderSource[]> {
  const urls = getUrls(plan, 'tokenHoldersUrl');
  if (urls === undefined) return [];
  const { jsonTokenHolders } = await import('intentbook/prices');
  return [jsonTokenHolders({ urls })];
}

/** Creates the source of the balances of accounts: the URLs of all books. */
export async function tokenBalanceSources(plan: ServerPlan): Promise<TokenBalanceSource[]> {
  const urls = getUrls(plan, 'tokenBalancesUrl');
  if (urls === undefined) return [];
  const { alchemyTokenBalances } = await import('intentbook/prices');
  return [alchemyTokenBalances({ urls })];
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
