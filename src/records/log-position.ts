import type { ChainEvent, OrderChainEvent, TradeCursor } from '../ports/chain-store.ts';

/** Compares positions on the chain, for sorting. */
export function compareLogPositions(a: TradeCursor, b: TradeCursor): number {
  return a.blockNumber - b.blockNumber || a.logIndex - b.logIndex;
}

/** Returns whether a chain event concerns an order. */
export function isOrderChainEvent(event: ChainEvent): event is OrderChainEvent {
  return event.type !== 'settlement';
}
