import { type AbiReader, readAbi } from './abi.ts';
import { SETTLE_SELECTOR } from './chains.ts';
import type { Address } from './hex.ts';
import type { OrderKind } from './order.ts';

/** One trade of a settlement with its prices. */
export interface SettledTrade {
  readonly kind: OrderKind;
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly partiallyFillable: boolean;
  /** The amount to execute of a partially fillable order, in its fixed token. */
  readonly executedAmount: bigint;
  /** The prices at which the contract has executed the trade. */
  readonly custom: ClearingPrices;
  /** The prices at the first index of the same tokens: the uniform prices of the settlement. */
  readonly uniform: ClearingPrices;
}

export interface ClearingPrices {
  readonly sell: bigint;
  readonly buy: bigint;
}

/** The decoded arguments of `settle`. */
export interface SettleCall {
  readonly trades: readonly SettledTrade[];
  /** The auction id, from the eight bytes after the arguments; null if absent. */
  readonly auctionId: number | null;
}

/** Maximum list length, more than any settlement has. It bounds the work for crafted calldata. */
const MAX_LENGTH = 10_000;

/** Number of characters of `0x` and the selector. */
const HEAD_LENGTH = 10;

/**
 * Decodes the input of a call of `settle`. Trades are in the order in which the contract emits `Trade`.
 *
 * @returns `undefined` if it is another call, or malformed.
 */
export function decodeSettle(input: string): SettleCall | undefined {
  if (!input.startsWith(SETTLE_SELECTOR)) return undefined;
  const abi = readAbi(input, HEAD_LENGTH);
  const tokens = decodeList(abi.at(0), (items, i) => items.address(i));
  const prices = decodeList(abi.at(1), (items, i) => items.uint(i));
  if (tokens === undefined || prices === undefined || tokens.length !== prices.length) return undefined;
  const trades = decodeList(abi.at(2), (items, i) => {
    const trade = items.at(i);
    return trade && decodeTrade(trade, tokens, prices);
  });
  return trades && { trades, auctionId: getAuctionId(input) };
}

function decodeTrade(
  trade: AbiReader,
  tokens: readonly Address[],
  prices: readonly bigint[],
): SettledTrade | undefined {
  const [sellIndex, buyIndex, flags] = [trade.small(0), trade.small(1), trade.small(8)];
  const [sellAmount, buyAmount, executedAmount] = [trade.uint(3), trade.uint(4), trade.uint(9)];
  if (sellIndex === undefined || buyIndex === undefined || flags === undefined) return undefined;
  if (sellAmount === undefined || buyAmount === undefined || executedAmount === undefined) return undefined;
  const [sellToken, buyToken] = [tokens[sellIndex], tokens[buyIndex]];
  if (sellToken === undefined || buyToken === undefined) return undefined;
  const price = (index: number) => prices[index] ?? 0n;
  return {
    sellToken,
    buyToken,
    sellAmount,
    buyAmount,
    executedAmount,
    // GPv2Trade.sol: bit 0 is the kind, bit 1 whether the order may be filled in parts.
    kind: (flags & 1) === 0 ? 'sell' : 'buy',
    partiallyFillable: (flags & 2) !== 0,
    custom: { sell: price(sellIndex), buy: price(buyIndex) },
    uniform: { sell: price(tokens.indexOf(sellToken)), buy: price(tokens.indexOf(buyToken)) },
  };
}

/** Decodes a list. Offsets of its items are relative to the word after its length. */
function decodeList<T>(
  list: AbiReader | undefined,
  read: (items: AbiReader, index: number) => T | undefined,
): T[] | undefined {
  const length = list?.small(0);
  if (list === undefined || length === undefined || length > MAX_LENGTH) return undefined;
  const items = list.from(1);
  const result: T[] = [];
  for (let i = 0; i < length; i++) {
    const item = read(items, i);
    if (item === undefined) return undefined;
    result.push(item);
  }
  return result;
}

/**
 * Returns the auction id. Solvers append it to the arguments, which are whole words, so eight extra bytes indicate an
 * id.
 */
function getAuctionId(input: string): number | null {
  if ((input.length - HEAD_LENGTH) % 64 !== 16) return null;
  const id = Number.parseInt(input.slice(-16), 16);
  return Number.isSafeInteger(id) ? id : null;
}
