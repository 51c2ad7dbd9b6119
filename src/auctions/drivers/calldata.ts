import { decodeSettle, type SettledTrade } from '../../protocol/settle-calldata.ts';
import type { DriverSolution } from './solutions.ts';
import type { ExecutedOrder } from './winner-selection.ts';

/**
 * Checks that the calldata of a revealed solution executes its orders as claimed. Calldata of another contract, such as
 * a wrapper, cannot be decoded and is accepted.
 *
 * @param response - The body of the response of `POST /reveal`.
 * @returns The problem, or `undefined`.
 */
export function checkCalldata(response: unknown, { orders }: DriverSolution, auctionId: number): string | undefined {
  const text = findCalldata(response);
  if (text === undefined) return 'calldata.internalized must be hex';
  const call = decodeSettle(text);
  if (call === undefined) return undefined;
  if (call.auctionId !== null && call.auctionId !== auctionId)
    return `the calldata must contain the auction id ${auctionId}, got ${call.auctionId}`;
  const trades = [...call.trades];
  for (const order of orders) {
    const i = trades.findIndex((trade) => executes(trade, order));
    if (i < 0) return `the calldata does not execute order ${order.uid} as claimed`;
    trades.splice(i, 1);
  }
  return undefined;
}

function findCalldata(response: unknown): string | undefined {
  if (typeof response !== 'object' || response === null || !('calldata' in response)) return undefined;
  const { calldata } = response;
  if (typeof calldata !== 'object' || calldata === null || !('internalized' in calldata)) return undefined;
  const { internalized: text } = calldata;
  return typeof text === 'string' && /^0x(?:[0-9a-fA-F]{2})*$/.test(text) ? text.toLowerCase() : undefined;
}

/** Whether a trade has the terms of an order, and gives its owner at least what is claimed. */
function executes(trade: SettledTrade, order: ExecutedOrder): boolean {
  const { kind, custom } = trade;
  if (kind !== order.kind || trade.sellToken !== order.sellToken || trade.buyToken !== order.buyToken) return false;
  if (trade.sellAmount !== order.sellAmount || trade.buyAmount !== order.buyAmount) return false;
  if (custom.sell === 0n || custom.buy === 0n) return false;
  const whole = kind === 'sell' ? trade.sellAmount : trade.buyAmount;
  const fixed = trade.partiallyFillable ? trade.executedAmount : whole;
  if (kind === 'sell') {
    const bought = (fixed * custom.sell + custom.buy - 1n) / custom.buy;
    return fixed === order.executedSell && bought >= order.executedBuy;
  }
  return fixed === order.executedBuy && (fixed * custom.buy) / custom.sell <= order.executedSell;
}
