import type { Order } from '../orders/order-json.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';

/** What is known of a token. */
export interface TokenLabel {
  /** Decimal places of a whole token. */
  readonly decimals?: number;
  readonly symbol?: string;
}

/** Says what a token is called, as far as it is known. MUST NOT guess: 18 decimals are not to be assumed. */
export type TokenLookup = (chainId: number, token: Address) => TokenLabel | undefined | Promise<TokenLabel | undefined>;

/** The two tokens of an order. */
export interface OrderTokens {
  readonly sell: TokenLabel | undefined;
  readonly buy: TokenLabel | undefined;
}

/** An amount for people: in units where decimals and symbol are known, in atoms otherwise. */
export function amountText(atoms: string, address: Address, token: TokenLabel | undefined): string {
  const { decimals, symbol } = token ?? {};
  const usable = Number.isSafeInteger(decimals) && Number(decimals) >= 0 && Number(decimals) <= 255;
  if (!usable || decimals === undefined || symbol === undefined || symbol === '') return `${atoms} atoms of ${address}`;
  // A symbol is whatever a contract answers: neither lines nor essays.
  const name = [...symbol.replace(/[\p{C}\p{Z}]+/gu, ' ').trim()].slice(0, 20).join('');
  return `${formatDecimal({ digits: BigInt(atoms), scale: decimals })} ${name}`;
}

/** What is exchanged: `1.5 WETH for 3000 USDC`. */
export function exchangeText(
  { sellToken, buyToken }: Pick<Order, 'sellToken' | 'buyToken'>,
  amounts: { readonly sellAmount: string; readonly buyAmount: string },
  { sell, buy }: OrderTokens,
): string {
  return `${amountText(amounts.sellAmount, sellToken, sell)} for ${amountText(amounts.buyAmount, buyToken, buy)}`;
}

/** Looks the tokens of orders up, each once. */
export async function findTokens(
  orders: readonly Pick<Order, 'sellToken' | 'buyToken'>[],
  lookup: (token: Address) => ReturnType<TokenLookup>,
  onFailure: (failure: unknown) => void,
): Promise<(order: Pick<Order, 'sellToken' | 'buyToken'>) => OrderTokens> {
  const known = new Map<Address, TokenLabel | undefined>();
  for (const token of new Set(orders.flatMap(({ sellToken, buyToken }) => [sellToken, buyToken]))) {
    try {
      known.set(token, await lookup(token));
    } catch (failure) {
      // A message in atoms is better than none.
      onFailure(failure);
    }
  }
  return ({ sellToken, buyToken }) => ({ sell: known.get(sellToken), buy: known.get(buyToken) });
}
