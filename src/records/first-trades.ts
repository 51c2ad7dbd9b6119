import type { ChainEvent } from '../ports/chain-store.ts';
import type { Address } from '../protocol/hex.ts';

/**
 * Returns the first block in which each token was sold or bought, among these chain events. A store keeps the minimum
 * per token. A rollback needs no search: a token whose first block is rolled back has no trade left.
 */
export function firstTradeBlocks(events: Iterable<ChainEvent>): ReadonlyMap<Address, number> {
  const first = new Map<Address, number>();
  for (const event of events) {
    if (event.type !== 'trade') continue;
    for (const token of [event.sellToken, event.buyToken]) {
      first.set(token, Math.min(event.blockNumber, first.get(token) ?? event.blockNumber));
    }
  }
  return first;
}
