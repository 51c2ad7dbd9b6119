import type { ChainEvent } from '../ports/chain-store.ts';
import type { Address } from '../protocol/hex.ts';

/**
 * The first block among these facts in which each token was traded, sold or bought. A store keeps the least it has seen of
 * each token. Taking back the blocks above another then takes no look at any trade: a token whose first block is taken
 * back has no trade left, and of the others the first one stays.
 */
export function firstTradeBlocks(facts: Iterable<ChainEvent>): ReadonlyMap<Address, number> {
  const first = new Map<Address, number>();
  for (const fact of facts) {
    if (fact.type !== 'trade') continue;
    for (const token of [fact.sellToken, fact.buyToken]) {
      first.set(token, Math.min(fact.blockNumber, first.get(token) ?? fact.blockNumber));
    }
  }
  return first;
}
