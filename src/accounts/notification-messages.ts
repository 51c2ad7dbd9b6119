import { NATIVE_MARKER } from '../protocol/chains.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';
import type { Order } from '../records/order-json.ts';

/** Decimals and symbol of a token, if known. */
export interface TokenLabel {
  /** Number of decimals: one whole token is 10^decimals atoms. */
  readonly decimals?: number;
  readonly symbol?: string;
}

/** Returns the label of a token, if known. MUST NOT guess: a token may have other than 18 decimals. */
export type TokenLookup = (chainId: number, token: Address) => TokenLabel | undefined | Promise<TokenLabel | undefined>;

/** The two tokens of an order. */
export interface OrderTokens {
  readonly sell: TokenLabel | undefined;
  readonly buy: TokenLabel | undefined;
}

/** Formats an amount for people: in whole tokens if the decimals are known, otherwise in atoms. */
export function formatAmount(atoms: string, address: Address, token: TokenLabel | undefined): string {
  const { decimals = -1, symbol = '' } = token ?? {};
  if (!Number.isSafeInteger(decimals) || decimals < 0 || decimals > 255) return `${atoms} atoms of ${address}`;
  const amount = formatDecimal({ digits: BigInt(atoms), scale: decimals });
  const name = symbol.trim();
  return `${amount} ${SYMBOL.test(name) ? name : `tokens of ${address}`}`;
}

/**
 * A symbol that a message shows: letters and digits, a letter first. Symbols are untrusted contract data.
 * Others may be links, amounts, or look like the name of another token by letters of other scripts.
 */
const SYMBOL = /^[A-Za-z][A-Za-z0-9]{0,19}$/;

/** Formats both amounts of an exchange: `1.5 WETH for 3000 USDC`. */
export function formatExchange(
  { sellToken, buyToken }: Pick<Order, 'sellToken' | 'buyToken'>,
  amounts: { readonly sellAmount: string; readonly buyAmount: string },
  { sell, buy }: OrderTokens,
): string {
  return `${formatAmount(amounts.sellAmount, sellToken, sell)} for ${formatAmount(amounts.buyAmount, buyToken, buy)}`;
}

type LabelledOrder = Pick<Order, 'sellToken' | 'buyToken' | 'ethflowData'>;

/** Returns the token that the trader sells: native currency, if its contract wraps it and places the order. */
const getSoldToken = ({ sellToken, ethflowData }: LabelledOrder) =>
  ethflowData === undefined ? sellToken : NATIVE_MARKER;

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
