import type { Hex } from 'viem';
import { concatHex, encodeFunctionData, numberToHex, parseAbi, zeroAddress } from 'viem';
import type { WireOrder } from './book.ts';

const SETTLE = parseAbi([
  'struct Trade { uint256 sellTokenIndex; uint256 buyTokenIndex; address receiver; uint256 sellAmount; uint256 buyAmount; uint32 validTo; bytes32 appData; uint256 feeAmount; uint256 flags; uint256 executedAmount; bytes signature; }',
  'struct Interaction { address target; uint256 value; bytes callData; }',
  'function settle(address[] tokens, uint256[] clearingPrices, Trade[] trades, Interaction[][3] interactions)',
]);

/** A call of the settlement contract. */
export interface Call {
  readonly target: Hex;
  readonly value: bigint;
  readonly callData: Hex;
}

/** What an order trades in a settlement. */
export interface Trade {
  readonly order: Omit<WireOrder, 'uid' | 'status' | 'executedSellAmount' | 'executedBuyAmount'>;
  readonly sold: bigint;
  readonly bought: bigint;
}

const SCHEMES = { eip712: 0n, ethsign: 1n, eip1271: 2n, presign: 3n } as const;

/** Encodes a settlement. Each order has its own prices, and its hooks are called unless `hooks` is false. */
export function encodeSettlement(
  executed: readonly Trade[],
  { calls = [], auctionId, hooks = true }: { calls?: readonly Call[]; auctionId?: number; hooks?: boolean } = {},
): Hex {
  const tokens = executed.flatMap(({ order }) => [order.sellToken, order.buyToken]);
  const prices = executed.flatMap(({ sold, bought }) => [bought, sold]);
  const trades = executed.map(({ order, sold, bought }, i) => ({
    sellTokenIndex: BigInt(2 * i),
    buyTokenIndex: BigInt(2 * i + 1),
    receiver: order.receiver ?? zeroAddress,
    sellAmount: BigInt(order.sellAmount),
    buyAmount: BigInt(order.buyAmount),
    validTo: order.validTo,
    appData: order.appData,
    feeAmount: 0n,
    flags:
      (order.kind === 'buy' ? 1n : 0n) | (order.partiallyFillable ? 2n : 0n) | (SCHEMES[order.signingScheme] << 5n),
    executedAmount: order.kind === 'sell' ? sold : bought,
    signature: signatureOf(order),
  }));
  const hooksOf = (when: 'pre' | 'post') =>
    hooks
      ? executed.flatMap(({ order }) =>
          order.interactions[when].map((call) => ({ ...call, value: BigInt(call.value) })),
        )
      : [];
  const data = encodeFunctionData({
    abi: SETTLE,
    functionName: 'settle',
    args: [tokens, prices, trades, [hooksOf('pre'), calls, hooksOf('post')]],
  });
  return auctionId === undefined ? data : concatHex([data, numberToHex(auctionId, { size: 8 })]);
}

function signatureOf({ signingScheme, signature, owner }: Trade['order']): Hex {
  if (signingScheme === 'eip1271') return concatHex([owner, signature]);
  return signingScheme === 'presign' ? owner : signature;
}
