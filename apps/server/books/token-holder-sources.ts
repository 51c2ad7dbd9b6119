import type { TokenHolderSource } from 'intentbook';
import type { ServerPlan } from '../config/plan.ts';

/** Creates the source of token holders: the URLs of all books. */
export async function tokenHolderSources({ books }: ServerPlan): Promise<TokenHolderSource[]> {
  const urls: Record<number, string> = {};
  for (const { chainId, settings } of books) {
    if (settings.tokenHoldersUrl !== undefined) urls[chainId] ??= settings.tokenHoldersUrl;
  }
  if (Object.keys(urls).length === 0) return [];
  const { jsonTokenHolders } = await import('intentbook/prices');
  return [jsonTokenHolders({ urls })];
}
