import type { Hex } from '../../../src/protocol/hex.ts';
import { parseHex } from '../../../src/protocol/hex.ts';
import type { OrderData } from '../../../src/protocol/order.ts';
import { BUY_TOKEN_DESTINATIONS, ORDER_KINDS, SELL_TOKEN_SOURCES } from '../../../src/protocol/order.ts';
import type { SigningScheme } from '../../../src/protocol/signature.ts';
import { SIGNING_SCHEMES } from '../../../src/protocol/signature.ts';
import type { SignedOrder } from '../../../src/verification/verifier.ts';
import chains from './chains.json' with { type: 'json' };
import vectors from './orders.json' with { type: 'json' };

export { chains, vectors };

/** An order of the vectors, with text in all fields. */
export type VectorOrder = (typeof vectors.orders)[number]['order'];

/** Converts hex of a vector, which can be checksummed, to the notation of the engine. */
export function hex(text: string): Hex {
  const parsed = parseHex(text);
  if (parsed === undefined) throw new Error(`not hex: ${text}`);
  return parsed;
}

export function scheme(text: string): SigningScheme {
  return oneOf(SIGNING_SCHEMES, text);
}

/** Converts an order of a vector to the engine's type. */
export function orderData(order: VectorOrder): OrderData {
  return {
    ...order,
    sellToken: hex(order.sellToken),
    buyToken: hex(order.buyToken),
    receiver: hex(order.receiver),
    sellAmount: BigInt(order.sellAmount),
    buyAmount: BigInt(order.buyAmount),
    appData: hex(order.appData),
    feeAmount: BigInt(order.feeAmount),
    kind: oneOf(ORDER_KINDS, order.kind),
    sellTokenBalance: oneOf(SELL_TOKEN_SOURCES, order.sellTokenBalance),
    buyTokenBalance: oneOf(BUY_TOKEN_DESTINATIONS, order.buyTokenBalance),
  };
}

/** Converts an order of a vector with one of its signatures to the wire format. */
export function signedOrder(order: VectorOrder, signingScheme: SigningScheme, signature: string): SignedOrder {
  const { kind, sellTokenBalance, buyTokenBalance } = orderData(order);
  return { ...order, kind, sellTokenBalance, buyTokenBalance, signingScheme, signature };
}

function oneOf<T extends string>(allowed: readonly T[], text: string): T {
  const found = allowed.find((value) => value === text);
  if (found === undefined) throw new Error(`${text} is not one of ${allowed.join(', ')}`);
  return found;
}
