import type { OrderStore, StoredEvent } from '../ports/store.ts';
import type { Address } from '../protocol/hex.ts';

/**
 * Selects the log entries of orders that an account owns or has placed on chain. No order is read.
 *
 * @param filterPlaced - Returns those of some UIDs that the account has placed on chain.
 */
export async function selectAccountEntries(
  events: readonly StoredEvent[],
  account: Address,
  filterPlaced: OrderStore['filterPlaced'],
): Promise<readonly StoredEvent[]> {
  const others = new Set(events.flatMap(({ uid, owner }) => (owner === account ? [] : [uid])));
  const onChain = new Set(others.size === 0 ? [] : await filterPlaced(account, [...others]));
  return events.filter(({ uid, owner }) => owner === account || onChain.has(uid));
}
