import { keccak256, keccak256Text } from '../crypto/keccak.ts';
import { type Domain, domainSeparator } from './eip712.ts';
import { type Address, bytesToHex, type Hex, hexToBytes, writeHex } from './hex.ts';
import { writeUint256 } from './uint256.ts';

/** The kinds of orders: the buy amount (`buy`) or the sell amount (`sell`) is fixed. */
export const ORDER_KINDS = ['buy', 'sell'] as const;
/** Whether the sell amount or the buy amount is fixed. */
export type OrderKind = (typeof ORDER_KINDS)[number];

/** The sources of the sell token: an ERC-20 allowance, or a Vault balance. */
export const SELL_TOKEN_SOURCES = ['erc20', 'internal', 'external'] as const;
export type SellTokenSource = (typeof SELL_TOKEN_SOURCES)[number];

/** The destinations of the buy token: an ERC-20 transfer, or a Vault balance. */
export const BUY_TOKEN_DESTINATIONS = ['erc20', 'internal'] as const;
export type BuyTokenDestination = (typeof BUY_TOKEN_DESTINATIONS)[number];

/** The maximum `validTo`: 7 February 2106. */
export const MAX_UINT32 = 0xffff_ffff;

export function isUint32(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= MAX_UINT32;
}

/** The twelve signed fields of an order, with amounts in atoms. */
export interface OrderData {
  readonly sellToken: Address;
  readonly buyToken: Address;
  /** Null: the owner. Hashes as the zero address. */
  readonly receiver: Address | null;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  /** Seconds since 1970, `uint32`. */
  readonly validTo: number;
  /** The 32-byte hash of the app-data document. */
  readonly appData: Hex;
  readonly feeAmount: bigint;
  readonly kind: OrderKind;
  readonly partiallyFillable: boolean;
  readonly sellTokenBalance: SellTokenSource;
  readonly buyTokenBalance: BuyTokenDestination;
}

/** The EIP-712 type of an order (GPv2Order.sol, `TYPE_HASH`). */
export const ORDER_TYPE =
  'Order(address sellToken,address buyToken,address receiver,uint256 sellAmount,uint256 buyAmount,uint32 validTo,' +
  'bytes32 appData,uint256 feeAmount,string kind,bool partiallyFillable,string sellTokenBalance,string buyTokenBalance)';

/** The keccak-256 hashes of enumeration names, as EIP-712 encodes `string` members. */
const NAME_HASHES: Readonly<Record<OrderKind | SellTokenSource, Uint8Array>> = {
  sell: hexToBytes('0xf3b277728b3fee749481eb3e0b3b48980dbbab78658fc419025cb16eee346775'),
  buy: hexToBytes('0x6ed88e868af0a1983e3886d5f3e95a2fafbd6c3450bc229e27342283dc429ccc'),
  erc20: hexToBytes('0x5a28e9363bb942b639270062aa6bb295f434bcdfc42c97267bf003f272060dc9'),
  internal: hexToBytes('0x4ac99ace14ee0a5ef932dc609df0943ab7ac16b7583634612f8dc35a4289a6ce'),
  external: hexToBytes('0xabee3b73373acd583a130924aad6dc38cfdc44ba0555ba94ce2ff63980ea0632'),
};

/**
 * Returns the name with a hash, as contracts emit enumerations.
 *
 * @param hash - 32 bytes in lower case.
 */
export function findNameByHash<Name extends OrderKind | SellTokenSource>(
  hash: Hex,
  names: readonly Name[],
): Name | undefined {
  return names.find((name) => bytesToHex(NAME_HASHES[name]) === hash);
}

const WORD = 32;

/** Hashes orders of one domain. */
export interface OrderHasher {
  /** The domain's separator, 32 bytes. */
  readonly separator: Uint8Array;
  /** The struct hash of an order, 32 bytes. */
  structHash(order: OrderData): Uint8Array;
  /** The EIP-712 digest of an order, 32 bytes: the signed value, and the first part of its UID. */
  digest(order: OrderData): Uint8Array;
}

/**
 * Creates a hasher for a domain. The struct has fixed fields, so each call writes it word by word into a reused buffer
 * instead of using a general typed-data encoder.
 */
export function createOrderHasher(domain: Domain): OrderHasher {
  const separator = domainSeparator(domain);
  const struct = new Uint8Array(13 * WORD);
  const words = new DataView(struct.buffer);
  struct.set(keccak256Text(ORDER_TYPE), 0);

  const message = new Uint8Array(2 + 2 * WORD);
  message[0] = 0x19;
  message[1] = 0x01;
  message.set(separator, 2);

  // The current values of the buffer's last words, which rarely change between orders.
  let kind: OrderKind | undefined;
  let source: SellTokenSource | undefined;
  let destination: BuyTokenDestination | undefined;

  function structHash(order: OrderData): Uint8Array {
    writeHex(struct, 1 * WORD + 12, order.sellToken, 0, 20);
    writeHex(struct, 2 * WORD + 12, order.buyToken, 0, 20);
    if (order.receiver === null) struct.fill(0, 3 * WORD, 4 * WORD);
    else writeHex(struct, 3 * WORD + 12, order.receiver, 0, 20);
    writeUint256(words, 4 * WORD, order.sellAmount);
    writeUint256(words, 5 * WORD, order.buyAmount);
    words.setUint32(6 * WORD + 28, order.validTo);
    writeHex(struct, 7 * WORD, order.appData, 0, 32);
    writeUint256(words, 8 * WORD, order.feeAmount);
    if (order.kind !== kind || order.sellTokenBalance !== source || order.buyTokenBalance !== destination) {
      ({ kind, sellTokenBalance: source, buyTokenBalance: destination } = order);
      struct.set(NAME_HASHES[kind], 9 * WORD);
      struct.set(NAME_HASHES[source], 11 * WORD);
      struct.set(NAME_HASHES[destination], 12 * WORD);
    }
    struct[10 * WORD + 31] = order.partiallyFillable ? 1 : 0;
    return keccak256(struct);
  }

  return {
    separator,
    structHash,
    digest(order) {
      message.set(structHash(order), 2 + WORD);
      return keccak256(message);
    },
  };
}
