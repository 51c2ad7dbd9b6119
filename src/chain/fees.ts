import type { Address } from '../protocol/hex.ts';
import type { SettledTrade } from '../protocol/settle-calldata.ts';

/** A trade as the contract emitted it. */
export interface ObservedTrade {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly feeAmount: bigint;
}

/**
 * Computes the fee of a trade beyond the signed fee: its amount at the uniform prices of the settlement, less its
 * executed amount. In atoms of the sell token; the fee of a sell order is converted from the buy token at those prices.
 * Exact: quotients are rounded as in GPv2Settlement.sol, `computeTradeExecution`.
 *
 * @returns `undefined` if the calldata does not belong to the trade, 0 if the trade got a better price.
 */
export function executedFee(settled: SettledTrade, trade: ObservedTrade): bigint | undefined {
  const { kind, uniform } = settled;
  if (settled.sellToken !== trade.sellToken || settled.buyToken !== trade.buyToken) return undefined;
  if (uniform.sell === 0n || uniform.buy === 0n) return undefined;
  const sold = trade.sellAmount - trade.feeAmount;
  const fixed = settled.partiallyFillable
    ? settled.executedAmount
    : kind === 'sell'
      ? settled.sellAmount
      : settled.buyAmount;
  if (fixed !== (kind === 'sell' ? sold : trade.buyAmount)) return undefined;
  if (kind === 'buy') {
    const fee = sold - (trade.buyAmount * uniform.buy) / uniform.sell;
    return fee > 0n ? fee : 0n;
  }
  const fee = ceilDivide(sold * uniform.sell, uniform.buy) - trade.buyAmount;
  return fee > 0n ? (fee * uniform.buy) / uniform.sell : 0n;
}

function ceilDivide(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}
