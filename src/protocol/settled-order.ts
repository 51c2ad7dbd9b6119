import { type AbiReader, readAbi } from './abi.ts';
import { SETTLE_SELECTOR } from './chains.ts';
import { type Hex, ZERO_ADDRESS } from './hex.ts';
import { MAX_UINT32, type OrderData, type SellTokenSource } from './order.ts';
import type { SigningScheme } from './signature.ts';

/** The signed terms of a trade of a settlement, and its signature. */
export interface SettledOrder {
  readonly data: OrderData;
  readonly signingScheme: SigningScheme;
  /** As in the wire format: without the owner that `settle` has before contract signatures. */
  readonly signature: Hex;
}

/** Number of characters of `0x` and the selector. */
const HEAD_LENGTH = 10;

/** Signing schemes by bits 5 and 6 of the flags (GPv2Trade.sol). */
const SCHEMES: readonly SigningScheme[] = ['eip712', 'ethsign', 'eip1271', 'presign'];

/** Sources of the sell token by bits 2 and 3 of the flags. The first two values mean the same. */
const SOURCES: readonly SellTokenSource[] = ['erc20', 'erc20', 'external', 'internal'];

/** Number of characters of an address in hex. */
const ADDRESS_LENGTH = 42;

/**
 * Decodes the order of one trade from the input of a call of `settle`.
 *
 * @param index - Position of the trade.
 * @returns `undefined` if the calldata is malformed. The caller compares the digest with the UID that was traded.
 */
export function decodeSettledOrder(input: string, index: number): SettledOrder | undefined {
  if (!input.startsWith(SETTLE_SELECTOR)) return undefined;
  const abi = readAbi(input, HEAD_LENGTH);
  const tokens = abi.at(0);
  const trades = abi.at(2);
  const length = trades?.small(0) ?? 0;
  const trade = index < length ? trades?.from(1).at(index) : undefined;
  return tokens && trade && decodeOrder(trade, tokens);
}

function decodeOrder(trade: AbiReader, tokens: AbiReader): SettledOrder | undefined {
  const count = tokens.small(0) ?? 0;
  const getToken = (index = count) => (index < count ? tokens.address(index + 1) : undefined);
  const [sellToken, buyToken] = [getToken(trade.small(0)), getToken(trade.small(1))];
  const [receiver, validTo, appData] = [trade.address(2), trade.small(5), trade.word(6)];
  const [sellAmount, buyAmount, feeAmount] = [trade.uint(3), trade.uint(4), trade.uint(7)];
  const [flags, bytes] = [trade.small(8), trade.bytes(10)];
  if (sellToken === undefined || buyToken === undefined || receiver === undefined) return undefined;
  if (sellAmount === undefined || buyAmount === undefined || feeAmount === undefined) return undefined;
  if (validTo === undefined || validTo > MAX_UINT32 || appData === undefined) return undefined;
  if (flags === undefined || bytes === undefined) return undefined;
  const signingScheme = SCHEMES[(flags >> 5) & 3] ?? 'eip712';
  return {
    data: {
      sellToken,
      buyToken,
      receiver: receiver === ZERO_ADDRESS ? null : receiver,
      sellAmount,
      buyAmount,
      validTo,
      appData: `0x${appData}`,
      feeAmount,
      kind: (flags & 1) === 0 ? 'sell' : 'buy',
      partiallyFillable: (flags & 2) !== 0,
      sellTokenBalance: SOURCES[(flags >> 2) & 3] ?? 'erc20',
      buyTokenBalance: (flags & 16) === 0 ? 'erc20' : 'internal',
    },
    signingScheme,
    signature: toWireSignature(signingScheme, bytes),
  };
}

/** GPv2Signing.sol: contract signatures follow the owner, and the bytes of a pre-signature are the owner. */
function toWireSignature(scheme: SigningScheme, bytes: Hex): Hex {
  if (scheme === 'presign') return '0x';
  return scheme === 'eip1271' ? `0x${bytes.slice(ADDRESS_LENGTH)}` : bytes;
}
