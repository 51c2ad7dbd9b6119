import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { Address } from '../protocol/hex.ts';
import type { Order } from '../records/order-json.ts';

/** Decimals and symbol of a token, if known. */
export interface TokenLabel {
  /** Number of decimals: one whole token is 10^decimals atoms. */
  readonly decimals?: number;
  readonly symbol?: string;
  /** Whether only the contract states the symbol, which may imitate another token. Messages add the address. */
  readonly isUnverified?: boolean;
}

/** Returns the label of a token, if known. MUST NOT guess: a token may have other than 18 decimals. */
export type TokenLookup = (chainId: number, token: Address) => TokenLabel | undefined | Promise<TokenLabel | undefined>;

/** The two tokens of an order. */
export interface OrderTokens {
  readonly sell: TokenLabel | undefined;
  readonly buy: TokenLabel | undefined;
}

/** Loads the labels of the orders' tokens, each once. */
export async function findTokens(
  orders: readonly LabelledOrder[],
  lookup: (token: Address) => ReturnType<TokenLookup>,
  onFailure: (failure: unknown) => void,
): Promise<(order: LabelledOrder) => OrderTokens> {
  const known = new Map<Address, TokenLabel | undefined>();
  const tokens = new Set(orders.flatMap((order) => [getSoldToken(order), order.buyToken]));
  await Promise.all(
    [...tokens].map(async (token) => {
      try {
        known.set(token, await lookup(token));
      } catch (failure) {
        // Without a label the message shows atoms.
        onFailure(failure);
      }
    }),
  );
  return (order) => ({ sell: known.get(getSoldToken(order)), buy: known.get(order.buyToken) });
}

type LabelledOrder = Pick<Order, 'sellToken' | 'buyToken' | 'ethflowData'>;

/** Returns the token that the trader sells: native currency, if its contract wraps it and places the order. */
const getSoldToken = ({ sellToken, ethflowData }: LabelledOrder) =>
  ethflowData === undefined ? sellToken : NATIVE_MARKER;
