import type { Address, Hex } from 'viem';
import { concatHex, encodeFunctionData, numberToHex, parseAbi, zeroAddress } from 'viem';
import type { WireOrder } from './interface.ts';
import type { Call } from './pools.ts';

const SETTLE = parseAbi([
  'struct Trade { uint256 sellTokenIndex; uint256 buyTokenIndex; address receiver; uint256 sellAmount; uint256 buyAmount; uint32 validTo; bytes32 appData; uint256 feeAmount; uint256 flags; uint256 executedAmount; bytes signature; }',
  'struct Interaction { address target; uint256 value; bytes callData; }',
  'function settle(address[] tokens, uint256[] clearingPrices, Trade[] trades, Interaction[][3] interactions)',
]);

/** An execution of an order with the calls that provide its buy token. */
export interface Execution {
  readonly order: WireOrder;
  readonly sold: bigint;
  readonly bought: bigint;
  readonly calls: readonly Call[];
}

const SCHEMES = { eip712: 0n, ethsign: 1n, eip1271: 2n, presign: 3n } as const;

function signatureOf({ signingScheme, signature, owner }: WireOrder): Hex {
  if (signingScheme === 'presign') return owner;
  return signingScheme === 'eip1271' ? concatHex([owner, signature]) : signature;
}

/** Encodes executions. The clearing prices of each order are its executed amounts. */
export function encodeSettlement(executions: readonly Execution[], auctionId?: string): Hex {
  const tokens: Address[] = [];
  const prices: bigint[] = [];
  const trades = executions.map(({ order, sold, bought }) => {
    const at = BigInt(tokens.length);
    tokens.push(order.sellToken, order.buyToken);
    prices.push(bought, sold);
    const flags = (order.kind === 'buy' ? 1n : 0n) | (order.partiallyFillable ? 2n : 0n);
    return {
      sellTokenIndex: at,
      buyTokenIndex: at + 1n,
      receiver: order.receiver ?? zeroAddress,
      sellAmount: BigInt(order.sellAmount),
      buyAmount: BigInt(order.buyAmount),
      validTo: order.validTo,
      appData: order.appData,
      feeAmount: 0n,
      flags: flags | (SCHEMES[order.signingScheme] << 5n),
      executedAmount: order.kind === 'sell' ? sold : bought,
      signature: signatureOf(order),
    };
  });
  const hooks = (when: 'preInteractions' | 'postInteractions') =>
    executions.flatMap(({ order }) => order[when].map((call) => ({ ...call, value: BigInt(call.value) })));
  const data = encodeFunctionData({
    abi: SETTLE,
    functionName: 'settle',
    args: [
      tokens,
      prices,
      trades,
      [hooks('preInteractions'), executions.flatMap(({ calls }) => calls), hooks('postInteractions')],
    ],
  });
  return auctionId === undefined ? data : concatHex([data, numberToHex(BigInt(auctionId), { size: 8 })]);
}
