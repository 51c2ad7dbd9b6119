import type { Hex } from 'intentbook';
import type { ChainLog } from 'intentbook/chain-events';
import type { Abi, AbiEvent } from 'viem';
import { encodeAbiParameters, encodeEventTopics, getAddress, parseAbi } from 'viem';

/**
 * The events in the declarations of their contracts (GPv2Settlement.sol, GPv2Signing.sol, CoWSwapOnchainOrders.sol).
 */
export const EVENTS_ABI: Abi = parseAbi([
  'event Trade(address indexed owner, address sellToken, address buyToken, uint256 sellAmount, uint256 buyAmount, uint256 feeAmount, bytes orderUid)',
  'event Settlement(address indexed solver)',
  'event OrderInvalidated(address indexed owner, bytes orderUid)',
  'event PreSignature(address indexed owner, bytes orderUid, bool signed)',
  'struct Order { address sellToken; address buyToken; address receiver; uint256 sellAmount; uint256 buyAmount; uint32 validTo; bytes32 appData; uint256 feeAmount; bytes32 kind; bool partiallyFillable; bytes32 sellTokenBalance; bytes32 buyTokenBalance; }',
  'struct Signature { uint8 scheme; bytes data; }',
  'event OrderPlacement(address indexed sender, Order order, Signature signature, bytes data)',
  'event OrderInvalidation(bytes orderUid)',
  'event OrderRefund(bytes orderUid, address indexed refunder)',
]);

export function eventAbi(name: string): AbiEvent {
  const abi = EVENTS_ABI.find((item): item is AbiEvent => item.type === 'event' && item.name === name);
  if (abi === undefined) throw new Error(`there is no event ${name}`);
  return abi;
}

/** Encodes topics and data of an event with viem. */
export function encodeLog(name: string, args: object): Pick<ChainLog, 'topics' | 'data'> {
  const inputs = eventAbi(name).inputs.filter(({ indexed }) => indexed !== true);
  return {
    // Every topic has a value.
    topics: encodeEventTopics({ abi: EVENTS_ABI, eventName: name, args: spelled(args) as never }) as Hex[],
    // The members that the ABI names.
    data: encodeAbiParameters(inputs, inputs.map(({ name: input }) => args[input as keyof typeof args]) as never),
  };
}

/** viem requires checksummed addresses in topics. */
function spelled(args: object): object {
  const isAddress = (value: unknown): value is Hex => typeof value === 'string' && value.length === 42;
  return Object.fromEntries(
    Object.entries(args).map(([key, value]) => [key, isAddress(value) ? getAddress(value) : value]),
  );
}
