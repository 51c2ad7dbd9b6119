import type { OrderStore, StoredEvent } from '../ports/store.ts';
import type { Address } from '../protocol/hex.ts';

/**
 * Selects the log entries of orders that an account owns or has placed on chain. No order is read. The entries of a
 * placement name its account, because a rolled back placement deletes the order.
 *
 * @param filterPlaced - Returns those of some UIDs that the account has placed on chain.
 */
export async function selectAccountEntries(
  events: readonly StoredEvent[],
  account: Address,
  filterPlaced: OrderStore['filterPlaced'],
): Promise<readonly StoredEvent[]> {
  const isOwn = ({ owner, cause }: StoredEvent) => owner === account || cause?.onchainUser === account;
  const others = new Set(events.flatMap((event) => (isOwn(event) ? [] : [event.uid])));
  const onChain = new Set(others.size === 0 ? [] : await filterPlaced(account, [...others]));
  return events.filter((event) => isOwn(event) || onChain.has(event.uid));
}
