import type { Address } from '../protocol/hex.ts';
import type { SettledTrade } from '../protocol/settle-calldata.ts';

/** What the contract has emitted of a trade. */
export interface ObservedTrade {
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly feeAmount: bigint;
}

/**
 * What a trade has paid in fees beyond the signed one: what it would have got at the prices that hold for the whole
 * settlement, less what it got. In atoms of the sell token; a sell order's fee is taken in the buy token and converted
 * at those prices. Exact: a quotient is rounded as the contract rounds it (GPv2Settlement.sol, `computeTradeExecution`).
 *
 * @returns `undefined` when the calldata is not that of the trade. A trade that was given a better price has paid nothing.
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
