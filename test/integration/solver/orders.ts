import type { Address, AuctionOrder, Hex } from 'intentbook';
import type { Solution } from 'intentbook/solver';

/** Returns an address that ends with a number. */
export const addressOf = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`;

export const [SELL, BUY, SOLVER] = [addressOf(0xaa), addressOf(0xbb), addressOf(0xcc)];

/** Creates an order of an auction that sells 1000 atoms for at least 500. */
export function createOrder(index: number, changes: Partial<AuctionOrder> = {}): AuctionOrder {
  const uid: Hex = `0x${index.toString(16).padStart(112, '0')}`;
  return {
    uid,
    sellToken: SELL,
    buyToken: BUY,
    sellAmount: '1000',
    buyAmount: '500',
    protocolFees: [],
    created: 0,
    validTo: 0xffff_ffff,
    kind: 'sell',
    receiver: null,
    owner: addressOf(index),
    partiallyFillable: false,
    executed: '0',
    preInteractions: [],
    postInteractions: [],
    sellTokenBalance: 'erc20',
    buyTokenBalance: 'erc20',
    class: 'limit',
    appData: `0x${'00'.repeat(32)}`,
    signingScheme: 'eip712',
    signature: `0x${'00'.repeat(65)}`,
    quote: { sellAmount: '0', buyAmount: '0', fee: '0', solver: SOLVER },
    ...changes,
  };
}

/** Creates a solution that fills orders entirely, at the price 1. */
export function fillAll(...orders: readonly AuctionOrder[]): Solution {
  return {
    prices: { [SELL]: 1n, [BUY]: 1n },
    fills: orders.map((order) => ({ order, executed: BigInt(order.sellAmount) })),
    interactions: [],
  };
}
