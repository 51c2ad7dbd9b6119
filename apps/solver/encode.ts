import type { Address, Hex } from 'intentbook';
import type { Encoded } from '#internal';
import { array, bytes, bytes32, encodeCall, tuple, word } from '#internal';
import { tradePrices } from './execution.ts';
import type { Fill, Interaction, Solution } from './types.ts';

/** `settle(address[],uint256[],(…)[],(…)[][3])` (GPv2Settlement.sol). */
const SETTLE: Hex = '0x13d79a0b';

const ZERO_ADDRESS: Address = '0x0000000000000000000000000000000000000000';

/** Values of the flags of a trade (GPv2Trade.sol). */
const SELL_TOKEN_SOURCES = { erc20: 0, external: 2, internal: 3 } as const;
const SIGNING_SCHEMES = { eip712: 0, ethsign: 1, eip1271: 2, presign: 3 } as const;

/**
 * Encodes a solution as the input of `settle`. The pre-hooks of the orders come first, then the interactions, then the
 * post-hooks.
 *
 * @param auctionId - Number of the auction, appended to the input so that it can be attributed.
 * @throws RangeError if a token has no clearing price.
 */
export function encodeSettlement(solution: Solution, auctionId?: number): Hex {
  const { fills, prices, pre = [], interactions, post = [] } = solution;
  const tokens = Object.keys(prices) as Address[]; // by its type
  const clearingPrices = Object.values(prices);
  const trades = fills.map((fill) => encodeTrade(fill, solution, tokens, clearingPrices));
  const hooks = (when: 'preInteractions' | 'postInteractions') =>
    fills.flatMap(({ order }) => order[when].map(({ value, ...call }) => ({ ...call, value: BigInt(value) })));
  const data = encodeCall(SETTLE, [
    array(tokens.map(word)),
    array(clearingPrices.map(word)),
    array(trades),
    tuple(
      [[...hooks('preInteractions'), ...pre], interactions, [...hooks('postInteractions'), ...post]].map(encodeCalls),
    ),
  ]);
  return auctionId === undefined ? data : `${data}${auctionId.toString(16).padStart(16, '0')}`;
}

function encodeTrade(fill: Fill, { prices }: Solution, tokens: Address[], clearingPrices: bigint[]): Encoded {
  const { order, executed } = fill;
  let [sellIndex, buyIndex] = [tokens.indexOf(order.sellToken), tokens.indexOf(order.buyToken)];
  const { sell, buy } = tradePrices(fill, prices);
  if (sell !== prices[order.sellToken] || buy !== prices[order.buyToken]) {
    // A token that is listed again has a price for this trade alone.
    [sellIndex, buyIndex] = [tokens.length, tokens.length + 1];
    tokens.push(order.sellToken, order.buyToken);
    clearingPrices.push(sell, buy);
  }
  const flags =
    (order.kind === 'buy' ? 1 : 0) |
    (order.partiallyFillable ? 2 : 0) |
    (SELL_TOKEN_SOURCES[order.sellTokenBalance] << 2) |
    (order.buyTokenBalance === 'internal' ? 16 : 0) |
    (SIGNING_SCHEMES[order.signingScheme] << 5);
  return tuple([
    word(sellIndex),
    word(buyIndex),
    word(order.receiver ?? ZERO_ADDRESS),
    word(BigInt(order.sellAmount)),
    word(BigInt(order.buyAmount)),
    word(order.validTo),
    bytes32(order.appData),
    word(0n),
    word(flags),
    word(executed),
    bytes(contractSignature(order)),
  ]);
}

/** A contract signature follows the address of its contract; a pre-signature is the owner (GPv2Signing.sol). */
function contractSignature({ signingScheme, signature, owner }: Fill['order']): Hex {
  if (signingScheme === 'eip1271') return `${owner}${signature.slice(2)}`;
  return signingScheme === 'presign' ? owner : signature;
}

function encodeCalls(calls: readonly Interaction[]): Encoded {
  return array(calls.map(({ target, value, callData }) => tuple([word(target), word(value), bytes(callData)])));
}
