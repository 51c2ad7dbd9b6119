import { appDataHash } from './app-data.ts';
import { assertObject, isHex, toAmount, toBoolean, toChoice, toHex, toSeconds } from './checks.ts';
import { requireDomain } from './domain.ts';
import type { Hex, SigningDomain, TypedData } from './types.ts';

/** An order before it is signed. Members with a default may be absent. */
export interface OrderToSign {
  readonly sellToken: Hex;
  readonly buyToken: Hex;
  /** Account that receives the buy token; null or absent: the owner. */
  readonly receiver?: Hex | null;
  /** Atoms of the sell token: exact for `sell`, a maximum for `buy`. */
  readonly sellAmount: string | bigint;
  /** Atoms of the buy token: a minimum for `sell`, exact for `buy`. */
  readonly buyAmount: string | bigint;
  /** Last second in which the order can be filled, in seconds since 1970. */
  readonly validTo: number;
  /** The app-data document, or its hash of 32 bytes. */
  readonly appData: string;
  /** Atoms of the sell token. Default: 0, the only fee that a book accepts. */
  readonly feeAmount?: string | bigint;
  readonly kind: 'sell' | 'buy';
  /** Default: false. */
  readonly partiallyFillable?: boolean;
  /** Default: `erc20`. */
  readonly sellTokenBalance?: 'erc20' | 'internal' | 'external';
  /** Default: `erc20`. */
  readonly buyTokenBalance?: 'erc20' | 'internal';
}

/** The EIP-712 type of an order (GPv2Order.sol). */
export const ORDER_TYPES = {
  Order: [
    { name: 'sellToken', type: 'address' },
    { name: 'buyToken', type: 'address' },
    { name: 'receiver', type: 'address' },
    { name: 'sellAmount', type: 'uint256' },
    { name: 'buyAmount', type: 'uint256' },
    { name: 'validTo', type: 'uint32' },
    { name: 'appData', type: 'bytes32' },
    { name: 'feeAmount', type: 'uint256' },
    { name: 'kind', type: 'string' },
    { name: 'partiallyFillable', type: 'bool' },
    { name: 'sellTokenBalance', type: 'string' },
    { name: 'buyTokenBalance', type: 'string' },
  ],
} as const;

/** The twelve signed fields of an order. Amounts are in atoms; a receiver of zero stands for the owner. */
export interface OrderMessage {
  readonly sellToken: Hex;
  readonly buyToken: Hex;
  readonly receiver: Hex;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly validTo: number;
  readonly appData: Hex;
  readonly feeAmount: bigint;
  readonly kind: 'sell' | 'buy';
  readonly partiallyFillable: boolean;
  readonly sellTokenBalance: 'erc20' | 'internal' | 'external';
  readonly buyTokenBalance: 'erc20' | 'internal';
}

/** Typed data of an order. */
export type OrderTypedData = TypedData<typeof ORDER_TYPES, 'Order', OrderMessage>;

const ZERO_ADDRESS: Hex = `0x${'0'.repeat(40)}`;

/**
 * Creates the typed data of an order, for any signer of EIP-712.
 *
 * ```ts
 * const typedData = orderTypedData(signingDomain({ chainId: 11155111 }), order);
 * const signature = await account.signTypedData(typedData); // viem
 * const signature = await wallet._signTypedData(typedData.domain, typedData.types, typedData.message); // ethers 5
 * ```
 *
 * Addresses are converted to lower case, which signers accept with and without a checksum. An `appData` that is a
 * document is replaced with its hash.
 *
 * @throws TypeError naming the argument or the member that is malformed.
 */
export function orderTypedData(domain: SigningDomain, order: OrderToSign): OrderTypedData {
  requireDomain('orderTypedData', domain);
  assertObject('orderTypedData', order, 'sellToken, buyToken, sellAmount, buyAmount, validTo, appData and kind');
  return { domain, types: ORDER_TYPES, primaryType: 'Order', message: toMessage(order) };
}

/** Returns an order after a check of its members. @throws TypeError naming the member that is malformed. */
export function checkOrder<T extends OrderToSign>(order: T): T {
  toMessage(order);
  return order;
}

function toMessage(order: OrderToSign): OrderMessage {
  const { receiver, appData, feeAmount = 0n, partiallyFillable = false } = order;
  const { sellTokenBalance = 'erc20', buyTokenBalance = 'erc20' } = order;
  return {
    sellToken: toHex('sellToken', order.sellToken, 20),
    buyToken: toHex('buyToken', order.buyToken, 20),
    receiver: receiver == null ? ZERO_ADDRESS : toHex('receiver', receiver, 20),
    sellAmount: toAmount('sellAmount', order.sellAmount),
    buyAmount: toAmount('buyAmount', order.buyAmount),
    validTo: toSeconds('validTo', order.validTo),
    appData: isHex(appData, 32) ? toHex('appData', appData, 32) : appDataHash(appData),
    feeAmount: toAmount('feeAmount', feeAmount),
    kind: toChoice('kind', order.kind, ['sell', 'buy']),
    partiallyFillable: toBoolean('partiallyFillable', partiallyFillable),
    sellTokenBalance: toChoice('sellTokenBalance', sellTokenBalance, ['erc20', 'internal', 'external']),
    buyTokenBalance: toChoice('buyTokenBalance', buyTokenBalance, ['erc20', 'internal']),
  };
}
