import { readAbi } from './abi.ts';
import { type Address, type Hex, hexSize, UID_SIZE } from './hex.ts';

/** The position of an event. Hex is lower case. */
export interface EventPosition {
  readonly blockNumber: number;
  readonly blockHash: Hex;
  readonly logIndex: number;
  readonly transactionHash: Hex;
  /** The block's time in seconds since 1970, if known. */
  readonly timestamp?: number | null;
}

/** The signed fields of an order as a contract emits them: enumerations are hashes of their names. */
export interface EmittedOrder {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly receiver: Address;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly validTo: number;
  readonly appData: Hex;
  readonly feeAmount: bigint;
  readonly kind: Hex;
  readonly partiallyFillable: boolean;
  readonly sellTokenBalance: Hex;
  readonly buyTokenBalance: Hex;
}

/** The events of the settlement contract (GPv2Settlement.sol, GPv2Signing.sol). */
export type SettlementEvent =
  | {
      readonly event: 'Trade';
      readonly owner: Address;
      readonly sellToken: Address;
      readonly buyToken: Address;
      readonly sellAmount: bigint;
      readonly buyAmount: bigint;
      readonly feeAmount: bigint;
      readonly orderUid: Hex;
    }
  | { readonly event: 'Settlement'; readonly solver: Address }
  | { readonly event: 'OrderInvalidated'; readonly owner: Address; readonly orderUid: Hex }
  | { readonly event: 'PreSignature'; readonly owner: Address; readonly orderUid: Hex; readonly signed: boolean };

/**
 * The events of a contract that places orders on chain (ICoWSwapOnchainOrders, ICoWSwapEthFlow). `address` is that
 * contract.
 */
export type OnchainOrderEvent = { readonly address: Address } & (
  | {
      readonly event: 'OrderPlacement';
      readonly sender: Address;
      readonly order: EmittedOrder;
      readonly signature: { /** 0: EIP-1271, 1: presign. */ readonly scheme: number; readonly data: Hex };
      readonly data: Hex;
    }
  | { readonly event: 'OrderInvalidation'; readonly orderUid: Hex }
  | { readonly event: 'OrderRefund'; readonly orderUid: Hex; readonly refunder: Address }
);

/** An event that changes orders, by its name in the contract. */
export type ProtocolEvent = EventPosition & (SettlementEvent | OnchainOrderEvent);

/** A log from a node, with parsed numbers and hex in lower case. */
export interface ChainLog extends EventPosition {
  readonly address: Address;
  readonly topics: readonly Hex[];
  readonly data: Hex;
}

/** The first topic of each event: the hash of its signature. */
export const EVENT_TOPICS = {
  Trade: '0xa07a543ab8a018198e99ca0184c93fe9050a79400a0a723441f84de1d972cc17',
  Settlement: '0x40338ce1a7c49204f0099533b1e9a7ee0a3d261f84974ab7af36105b8c4e9db4',
  OrderInvalidated: '0x875b6cb035bbd4ac6500fabc6d1e4ca5bdc58a3e2b424ccb5c24cdbebeb009a9',
  PreSignature: '0x01bf7c8b0ca55deecbea89d7e58295b7ffbf685fd0d96801034ba8c6ffe1c68d',
  OrderPlacement: '0xcf5f9de2984132265203b5c335b25727702ca77262ff622e136baa7362bf1da9',
  OrderInvalidation: '0xb8bad102ac8bbacfef31ff1c906ec6d951c230b4dce750bb0376b812ad35852a',
  OrderRefund: '0x195271068a288191e4b265c641a56b9832919f69e9e7d6c2f31ba40278aeb85a',
} as const satisfies Record<ProtocolEvent['event'], Hex>;

/**
 * Decodes a log of one of the indexed contracts. Specialised for these seven events, because a backfill decodes
 * hundreds of thousands of logs.
 *
 * @returns `undefined` if it is another event, or malformed.
 */
export function decodeLog(log: ChainLog): ProtocolEvent | undefined {
  if (!Array.isArray(log?.topics)) return undefined;
  const { address, topics, data, blockNumber, blockHash, logIndex, transactionHash, timestamp = null } = log;
  const decode = DECODERS.get(topics[0]);
  const decoded = decode?.(data, topics[1], address);
  return decoded && { blockNumber, blockHash, logIndex, transactionHash, timestamp, ...decoded };
}

type Decoded = SettlementEvent | OnchainOrderEvent;
type Decoder = (data: Hex, indexed: Hex | undefined, address: Address) => Decoded | undefined;

const DECODERS: ReadonlyMap<Hex | undefined, Decoder> = new Map<Hex | undefined, Decoder>([
  [EVENT_TOPICS.Trade, decodeTrade],
  [
    EVENT_TOPICS.Settlement,
    (_, indexed) => {
      const solver = readAddress(indexed);
      return solver && { event: 'Settlement', solver };
    },
  ],
  [
    EVENT_TOPICS.OrderInvalidated,
    (data, indexed) => {
      const [owner, orderUid] = [readAddress(indexed), readUid(data, 0)];
      return owner && orderUid && { event: 'OrderInvalidated', owner, orderUid };
    },
  ],
  [
    EVENT_TOPICS.PreSignature,
    (data, indexed) => {
      const [owner, orderUid, signed] = [readAddress(indexed), readUid(data, 0), readAbi(data).small(1)];
      return owner && orderUid && { event: 'PreSignature', owner, orderUid, signed: signed === 1 };
    },
  ],
  [EVENT_TOPICS.OrderPlacement, decodePlacement],
  [
    EVENT_TOPICS.OrderInvalidation,
    (data, _, address) => {
      const orderUid = readUid(data, 0);
      return orderUid && { event: 'OrderInvalidation', address, orderUid };
    },
  ],
  [
    EVENT_TOPICS.OrderRefund,
    (data, indexed, address) => {
      const [refunder, orderUid] = [readAddress(indexed), readUid(data, 0)];
      return refunder && orderUid && { event: 'OrderRefund', address, orderUid, refunder };
    },
  ],
]);

function decodeTrade(data: Hex, indexed: Hex | undefined): Decoded | undefined {
  const abi = readAbi(data);
  const [owner, sellToken, buyToken, orderUid] = [
    readAddress(indexed),
    abi.address(0),
    abi.address(1),
    readUid(data, 5),
  ];
  const [sellAmount, buyAmount, feeAmount] = [abi.uint(2), abi.uint(3), abi.uint(4)];
  if (owner === undefined || sellToken === undefined || buyToken === undefined || orderUid === undefined)
    return undefined;
  if (sellAmount === undefined || buyAmount === undefined || feeAmount === undefined) return undefined;
  return { event: 'Trade', owner, sellToken, buyToken, sellAmount, buyAmount, feeAmount, orderUid };
}

/** Decodes `OrderPlacement`: twelve inline words of the order, then the offsets of the signature and of the data. */
function decodePlacement(data: Hex, indexed: Hex | undefined, address: Address): Decoded | undefined {
  const abi = readAbi(data);
  const sender = readAddress(indexed);
  const order = decodeOrder(data);
  const signature = abi.at(12);
  const [scheme, signatureData, extra] = [signature?.small(0), signature?.bytes(1), abi.bytes(13)];
  if (sender === undefined || order === undefined || extra === undefined) return undefined;
  if (scheme === undefined || signatureData === undefined) return undefined;
  const signed = { scheme, data: signatureData };
  return { event: 'OrderPlacement', address, sender, order, signature: signed, data: extra };
}

function decodeOrder(data: Hex): EmittedOrder | undefined {
  const abi = readAbi(data);
  const [sellToken, buyToken, receiver, validTo] = [abi.address(0), abi.address(1), abi.address(2), abi.small(5)];
  const [sellAmount, buyAmount, feeAmount] = [abi.uint(3), abi.uint(4), abi.uint(7)];
  const [appData, kind, sellSource, buyDestination] = [abi.word(6), abi.word(8), abi.word(10), abi.word(11)];
  if (sellToken === undefined || buyToken === undefined || receiver === undefined) return undefined;
  if (sellAmount === undefined || buyAmount === undefined || feeAmount === undefined) return undefined;
  if (validTo === undefined || appData === undefined || kind === undefined) return undefined;
  if (sellSource === undefined || buyDestination === undefined) return undefined;
  return {
    sellToken,
    buyToken,
    receiver,
    sellAmount,
    buyAmount,
    validTo,
    feeAmount,
    appData: `0x${appData}`,
    kind: `0x${kind}`,
    partiallyFillable: abi.small(9) === 1,
    sellTokenBalance: `0x${sellSource}`,
    buyTokenBalance: `0x${buyDestination}`,
  };
}

function readUid(data: Hex, index: number): Hex | undefined {
  const bytes = readAbi(data).bytes(index);
  return bytes !== undefined && hexSize(bytes) === UID_SIZE ? bytes : undefined;
}

const readAddress = (topic: Hex | undefined): Address | undefined =>
  topic === undefined ? undefined : readAbi(topic).address(0);
