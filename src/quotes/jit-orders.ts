import * as z from 'zod/mini';
import type { JitOrder } from '../ports/estimator.ts';
import { BUY_TOKEN_DESTINATIONS, ORDER_KINDS, SELL_TOKEN_SOURCES } from '../protocol/order.ts';
import { amount, epochSeconds, hex, hexSchema } from '../protocol/shape.ts';
import { SIGNING_SCHEMES } from '../protocol/signature.ts';
import { MAX_UINT256 } from '../protocol/uint256.ts';

/** Maximum number of orders of a solver for one trade. */
const MAX_ORDERS = 16;

/** Maximum number of characters of a signature. A contract signature may contain an order. */
const MAX_SIGNATURE = 8 * 1024;

const atoms = /* @__PURE__ */ amount().check(
  /* @__PURE__ */ z.maxLength(78),
  /* @__PURE__ */ z.refine((text) => BigInt(text) <= MAX_UINT256),
);

const jitOrder = /* @__PURE__ */ z.object({
  sellToken: hexSchema(20),
  buyToken: hexSchema(20),
  receiver: hexSchema(20),
  sellAmount: atoms,
  buyAmount: atoms,
  executedAmount: atoms,
  validTo: epochSeconds(),
  appData: hexSchema(32),
  side: z.enum(ORDER_KINDS),
  partiallyFillable: z.boolean(),
  sellTokenSource: z.enum(SELL_TOKEN_SOURCES),
  buyTokenDestination: z.enum(BUY_TOKEN_DESTINATIONS),
  signingScheme: z.enum(SIGNING_SCHEMES),
  signature: hex(),
});

const jitOrders = /* @__PURE__ */ z.array(jitOrder).check(/* @__PURE__ */ z.maxLength(MAX_ORDERS));

/** Reads the orders of a solver. `undefined` if they are malformed, or if one has no valid signature length. */
export function readJitOrders(value: unknown): readonly JitOrder[] | undefined {
  const parsed = jitOrders.safeParse(value);
  if (!parsed.success) return undefined;
  const isSound = ({ signingScheme, signature }: JitOrder) => {
    if (signature.length > MAX_SIGNATURE) return false;
    if (signingScheme === 'presign') return signature.length === 42;
    return signingScheme === 'eip1271' ? signature.length >= 42 : signature.length === 132;
  };
  return parsed.data.every(isSound) ? parsed.data : undefined;
}
