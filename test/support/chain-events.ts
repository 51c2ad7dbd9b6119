import type { Address, BlockRef, Hex, Order } from 'intentbook';
import type { EmittedOrder, OnchainOrderEvent, ProtocolEvent, SettlementEvent } from 'intentbook/chain-events';
import { keccak256, toHex } from 'viem';

/** A chain event of a block, in its own transaction by default. `timestamp` is in seconds since 1970. */
export type Happening = (SettlementEvent | OnchainOrderEvent) & {
  readonly transactionHash?: Hex;
  readonly timestamp?: number;
};

/** A block of one of several forks. */
export const blockOf = (number: number, fork = 'a'): BlockRef => ({ number, hash: hashOf(`${fork}${number}`) });

export const hashOf = (text: string): Hex => keccak256(toHex(text));

/** Returns the chain events of a block in the given order. */
export function eventsIn(block: BlockRef, happenings: readonly Happening[]): ProtocolEvent[] {
  return happenings.map((occurrence, logIndex) => ({
    blockNumber: block.number,
    blockHash: block.hash,
    logIndex,
    timestamp: 1_700_000_000 + block.number * 12,
    transactionHash: hashOf(`${block.hash} ${logIndex}`),
    ...occurrence,
  }));
}

export const SOLVER: Address = `0x${'50'.repeat(20)}`;
export const SETTLEMENT_HAPPENING = { event: 'Settlement', solver: SOLVER } as const;

/** Returns a trade of an order. */
export function tradeOf(order: Order, sellAmount: bigint, buyAmount: bigint, transactionHash?: Hex): Happening {
  const { owner, sellToken, buyToken, uid: orderUid } = order;
  const trade = { event: 'Trade', owner, sellToken, buyToken, sellAmount, buyAmount, feeAmount: 0n, orderUid } as const;
  return transactionHash === undefined ? trade : { ...trade, transactionHash };
}

const NATIVE_FLOW: Address = `0x${'ef'.repeat(20)}`;
export const TRADER: Address = `0x${'7a'.repeat(20)}`;

/** Returns an order for native currency, placed by the contract that owns it. */
export function placementOf(
  order: Partial<EmittedOrder> & Pick<EmittedOrder, 'sellToken' | 'buyToken'>,
  { userValidTo = 1_700_003_600, quoteId = 0, data }: { userValidTo?: number; quoteId?: number; data?: Hex } = {},
): Happening {
  const words = (number: number, digits: number) => number.toString(16).padStart(digits, '0');
  return {
    event: 'OrderPlacement',
    address: NATIVE_FLOW,
    sender: TRADER,
    signature: { scheme: 0, data: NATIVE_FLOW },
    data: data ?? `0x${words(quoteId, 16)}${words(userValidTo, 8)}`,
    order: {
      receiver: TRADER,
      sellAmount: 1000n,
      buyAmount: 400n,
      feeAmount: 0n,
      validTo: 0xffff_ffff,
      appData: hashOf('{}'),
      kind: hashOf('sell'),
      partiallyFillable: false,
      sellTokenBalance: hashOf('erc20'),
      buyTokenBalance: hashOf('erc20'),
      ...order,
    },
  };
}
