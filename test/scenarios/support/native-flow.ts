import type { Hex } from 'viem';
import { encodeFunctionData, keccak256, parseAbi, toHex } from 'viem';
import type { World } from './world.ts';

/** The interface of the contract that places orders for native currency. */
const FLOW = parseAbi([
  'struct Order { address buyToken; address receiver; uint256 sellAmount; uint256 buyAmount; bytes32 appData; uint256 feeAmount; uint32 validTo; bool partiallyFillable; int64 quoteId; }',
  'function createOrder(Order order) payable returns (bytes32)',
  'function invalidateOrder(Order order)',
]);

/** Terms of an order that sells native currency. */
export interface NativeTerms {
  readonly buyToken: Hex;
  readonly receiver: Hex;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly appData?: string;
  readonly validFor?: number;
  readonly quoteId?: number;
}

export interface PlacedNative {
  /** Validity that the user has chosen. */
  readonly validTo: number;
  /** Calldata that invalidates the order. */
  readonly invalidation: Hex;
}

/** Places an order from an account, or through a contract that passes the call on. */
export async function placeNative(
  world: World,
  from: Hex,
  terms: NativeTerms,
  contract = world.contracts.nativeFlow,
): Promise<PlacedNative> {
  const { appData = '{}', validFor = 3600, quoteId = 0, ...rest } = terms;
  const { timestamp } = await world.client.getBlock();
  const order = {
    ...rest,
    appData: keccak256(toHex(appData)),
    feeAmount: 0n,
    validTo: Number(timestamp) + validFor,
    partiallyFillable: false,
    quoteId: BigInt(quoteId),
  };
  await world.call(from, contract, FLOW, 'createOrder', [order], rest.sellAmount);
  return {
    validTo: order.validTo,
    invalidation: encodeFunctionData({ abi: FLOW, functionName: 'invalidateOrder', args: [order] }),
  };
}
