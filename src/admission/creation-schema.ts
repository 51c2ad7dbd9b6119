import * as z from 'zod/mini';
import { OrderBookError } from '../errors.ts';
import { BUY_TOKEN_DESTINATIONS, ORDER_KINDS, SELL_TOKEN_SOURCES } from '../protocol/order.ts';
import { amount, epochSeconds, hex, hexSchema, parseShape } from '../protocol/shape.ts';
import { SIGNING_SCHEMES } from '../protocol/signature.ts';
import { MAX_UINT256, parseUint256 } from '../protocol/uint256.ts';
import type { ParsedCreation } from './verified-order.ts';

export const orderCreation = /* @__PURE__ */ z.object({
  sellToken: hexSchema(20),
  buyToken: hexSchema(20),
  receiver: z.nullish(hexSchema(20)),
  sellAmount: amount(),
  buyAmount: amount(),
  validTo: epochSeconds(),
  feeAmount: amount(),
  kind: z.enum(ORDER_KINDS),
  partiallyFillable: z.boolean(),
  sellTokenBalance: z._default(z.enum(SELL_TOKEN_SOURCES), 'erc20'),
  buyTokenBalance: z._default(z.enum(BUY_TOKEN_DESTINATIONS), 'erc20'),
  signingScheme: z.enum(SIGNING_SCHEMES),
  signature: hex(),
  from: z.nullish(hexSchema(20)),
  quoteId: z.nullish(z.number().check(z.refine(Number.isInteger, { error: 'must be an integer' }))),
  appData: z.string(),
  appDataHash: z.nullish(hexSchema(32)),
  fullBalanceCheck: z._default(z.boolean(), false),
});

/**
 * Parses an order with its schema, which finds the first error. Unknown keys are ignored.
 *
 * @returns The order, or `InvalidBody` naming the first invalid field, `SellAmountOverflow` or `BuyAmountOverflow`.
 */
export function parseOrderCreation(input: unknown): ParsedCreation | OrderBookError {
  const parsed = parseShape(orderCreation, input);
  if (parsed instanceof OrderBookError) return parsed;
  if ((input as { readonly enableFastPath?: unknown }).enableFastPath === true) {
    return new OrderBookError('InvalidBody', 'enableFastPath is not supported', { path: 'enableFastPath' });
  }
  const { feeAmount, quoteId, ...order } = parsed;
  const sellAmount = parseUint256(order.sellAmount);
  if (typeof sellAmount === 'string') return createOverflowError('sellAmount');
  const buyAmount = parseUint256(order.buyAmount);
  if (typeof buyAmount === 'string') return createOverflowError('buyAmount');
  return {
    ...order,
    receiver: order.receiver ?? null,
    sellAmount,
    buyAmount,
    feeIsZero: parseUint256(feeAmount) === 0n,
    from: order.from ?? undefined,
    quoteId: typeof quoteId === 'number' && Number.isSafeInteger(quoteId) ? quoteId : undefined,
    appDataHash: order.appDataHash ?? undefined,
  };
}

function createOverflowError(field: 'sellAmount' | 'buyAmount'): OrderBookError {
  const code = field === 'sellAmount' ? 'SellAmountOverflow' : 'BuyAmountOverflow';
  return new OrderBookError(code, undefined, { field, max: MAX_UINT256.toString() });
}
