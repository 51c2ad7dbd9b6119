import type { Order } from 'intentbook';
import type { Hex } from 'viem';
import { concatHex, encodeFunctionData, numberToHex, parseAbi } from 'viem';

/** The function of GPv2Settlement.sol that solvers call. */
export const SETTLE_ABI = parseAbi([
  'struct Trade { uint256 sellTokenIndex; uint256 buyTokenIndex; address receiver; uint256 sellAmount; uint256 buyAmount; uint32 validTo; bytes32 appData; uint256 feeAmount; uint256 flags; uint256 executedAmount; bytes signature; }',
  'struct Interaction { address target; uint256 value; bytes callData; }',
  'function settle(address[] tokens, uint256[] clearingPrices, Trade[] trades, Interaction[][3] interactions)',
]);

/** One executed order of a settlement. */
export interface Fill {
  readonly order: Order;
  /** In the order's fixed token. Default: the full amount. */
  readonly executed?: bigint;
  /** Prices for this order alone, if they differ from the uniform prices. */
  readonly custom?: readonly [sell: bigint, buy: bigint];
}

const SCHEMES = { eip712: 0, ethsign: 1, eip1271: 2, presign: 3 } as const;
const SELL_SOURCES = { erc20: 0, external: 2, internal: 3 } as const;

/** Encodes a settlement with the auction id behind the arguments. */
export function settleData(fills: readonly Fill[], prices: Readonly<Record<string, bigint>>, auctionId?: number): Hex {
  const tokens = Object.keys(prices) as Hex[];
  const clearingPrices = Object.values(prices);
  const indexOf = (token: Hex) => tokens.findIndex((each) => each.toLowerCase() === token);
  const trades = fills.map(({ order, executed, custom }) => {
    let [sellTokenIndex, buyTokenIndex] = [indexOf(order.sellToken), indexOf(order.buyToken)];
    if (custom !== undefined) {
      [sellTokenIndex, buyTokenIndex] = [tokens.length, tokens.length + 1];
      tokens.push(order.sellToken, order.buyToken);
      clearingPrices.push(...custom);
    }
    const flags =
      (order.kind === 'buy' ? 1 : 0) |
      (order.partiallyFillable ? 2 : 0) |
      (SELL_SOURCES[order.sellTokenBalance] << 2) |
      (order.buyTokenBalance === 'internal' ? 16 : 0) |
      (SCHEMES[order.signingScheme] << 5);
    return {
      sellTokenIndex: BigInt(sellTokenIndex),
      buyTokenIndex: BigInt(buyTokenIndex),
      receiver: order.receiver ?? '0x0000000000000000000000000000000000000000',
      sellAmount: BigInt(order.sellAmount),
      buyAmount: BigInt(order.buyAmount),
      validTo: order.validTo,
      appData: order.appData,
      feeAmount: 0n,
      flags: BigInt(flags),
      executedAmount: executed ?? BigInt(order.kind === 'buy' ? order.buyAmount : order.sellAmount),
      signature: onchainSignature(order),
    };
  });
  const interactions = (calls: Order['interactions']['pre']) =>
    calls.map(({ target, value, callData }) => ({ target, value: BigInt(value), callData }));
  const pre = fills.flatMap(({ order }) =>
    interactions(order.interactions.pre.filter(({ callData }) => callData !== '0x4c84c1c8')),
  );
  const data = encodeFunctionData({
    abi: SETTLE_ABI,
    functionName: 'settle',
    args: [tokens, clearingPrices, trades, [pre, [], []]],
  });
  return auctionId === undefined ? data : concatHex([data, numberToHex(auctionId, { size: 8 })]);
}

/** Contract signatures start with the contract, and presignatures are the owner (GPv2Signing.sol). */
function onchainSignature({ signingScheme, signature, owner }: Order): Hex {
  if (signingScheme === 'eip1271') return concatHex([owner, signature]);
  return signingScheme === 'presign' ? owner : signature;
}
