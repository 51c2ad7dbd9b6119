import type { OrderTokens, TokenLabel } from '../account-tools/token-labels.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';
import type { Order } from '../records/order-json.ts';

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
