import { array, bytes, bytes32, type Encoded, encodeCall, tuple, word } from './abi-encoding.ts';
import { SETTLE_SELECTOR } from './chains.ts';
import type { Address, Hex } from './hex.ts';
import type { BuyTokenDestination, OrderKind, SellTokenSource } from './order.ts';
import type { SigningScheme } from './signature.ts';

/** A trade to settle: a signed order, and what is executed of it. */
export interface TradeInput {
  /** Amounts in atoms, as integers or decimal text. */
  readonly order: {
    readonly receiver: Address | null;
    readonly sellAmount: bigint | string;
    readonly buyAmount: bigint | string;
    readonly validTo: number;
    readonly appData: Hex;
    readonly feeAmount: bigint | string;
    readonly kind: OrderKind;
    readonly partiallyFillable: boolean;
    readonly sellTokenBalance: SellTokenSource;
    readonly buyTokenBalance: BuyTokenDestination;
  };
  readonly owner: Address;
  readonly signingScheme: SigningScheme;
  readonly signature: Hex;
  /** In atoms of the fixed token of the order. */
  readonly executed: bigint;
  /** Indexes in the list of tokens. */
  readonly sellIndex: number;
  readonly buyIndex: number;
}

/** A call that the settlement contract makes. */
export interface SettleInteraction {
  readonly target: Address;
  /** Wei. */
  readonly value: bigint | string;
  readonly callData: Hex;
}

const ZERO_ADDRESS: Address = `0x${'00'.repeat(20)}`;

/** Values of the flags of a trade (GPv2Trade.sol). */
const SELL_TOKEN_SOURCES = { erc20: 0, external: 2, internal: 3 } as const;
const SIGNING_SCHEMES = { eip712: 0, ethsign: 1, eip1271: 2, presign: 3 } as const;

/**
 * Encodes a call of `settle`.
 *
 * @param prices - Clearing price of each token.
 * @param interactions - Calls before, between and after the transfers.
 */
export function encodeSettle(
  tokens: readonly Address[],
  prices: readonly bigint[],
  trades: readonly TradeInput[],
  interactions: readonly (readonly SettleInteraction[])[],
): Hex {
  return encodeCall(SETTLE_SELECTOR, [
    array(tokens.map(word)),
    array(prices.map(word)),
    array(trades.map(encodeTrade)),
    tuple(interactions.map(encodeInteractions)),
  ]);
}

function encodeTrade({ order, executed, sellIndex, buyIndex, ...signed }: TradeInput): Encoded {
  const flags =
    (order.kind === 'buy' ? 1 : 0) |
    (order.partiallyFillable ? 2 : 0) |
    (SELL_TOKEN_SOURCES[order.sellTokenBalance] << 2) |
    (order.buyTokenBalance === 'internal' ? 16 : 0) |
    (SIGNING_SCHEMES[signed.signingScheme] << 5);
  return tuple([
    word(sellIndex),
    word(buyIndex),
    word(order.receiver ?? ZERO_ADDRESS),
    word(BigInt(order.sellAmount)),
    word(BigInt(order.buyAmount)),
    word(order.validTo),
    bytes32(order.appData),
    word(BigInt(order.feeAmount)),
    word(flags),
    word(executed),
    bytes(encodeSignature(signed)),
  ]);
}

/** A contract signature follows the address of its contract; a pre-signature is the owner (GPv2Signing.sol). */
function encodeSignature({
  signingScheme,
  signature,
  owner,
}: Pick<TradeInput, 'signingScheme' | 'signature' | 'owner'>): Hex {
  if (signingScheme === 'eip1271') return `${owner}${signature.slice(2)}`;
  return signingScheme === 'presign' ? owner : signature;
}

function encodeInteractions(interactions: readonly SettleInteraction[]): Encoded {
  return array(
    interactions.map(({ target, value, callData }) => tuple([word(target), word(BigInt(value)), bytes(callData)])),
  );
}
