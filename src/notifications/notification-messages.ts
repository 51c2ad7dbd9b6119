import type { OrderTokens, TokenLabel } from '../account-tools/token-labels.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';
import type { Order } from '../records/order-json.ts';

/** Number of significant digits of an amount. Digits before the point are all shown. */
const SIGNIFICANT = 6;

/**
 * Formats an amount for people: in whole tokens if the decimals are known, otherwise in atoms.
 *
 * @param exact - Whether all digits are shown. Default: false, six significant ones, rounded.
 */
export function formatAmount(atoms: string, address: Address, token: TokenLabel | undefined, exact = false): string {
  const { decimals = -1, symbol = '', isUnverified = false } = token ?? {};
  if (!Number.isSafeInteger(decimals) || decimals < 0 || decimals > 255) return `${atoms} atoms of ${address}`;
  const dropped = exact ? 0 : Math.min(decimals, Math.max(0, atoms.length - SIGNIFICANT));
  const unit = 10n ** BigInt(dropped);
  const amount = formatDecimal({ digits: (BigInt(atoms) + unit / 2n) / unit, scale: decimals - dropped });
  const name = symbol.trim();
  if (!SYMBOL.test(name)) return `${amount} tokens of ${address}`;
  return `${amount} ${name}${isUnverified ? ` (${address})` : ''}`;
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

/**
 * Formats the amounts of a part of an order. An amount that would be rounded to that of the order has all its digits,
 * because the order would otherwise seem to be complete.
 */
export function formatPart(order: ExchangedOrder, part: ExchangedAmounts, { sell, buy }: OrderTokens): string {
  const format = (atoms: string, whole: string, address: Address, token: TokenLabel | undefined) => {
    const text = formatAmount(atoms, address, token);
    const isRoundedToWhole = atoms !== whole && text === formatAmount(whole, address, token);
    return isRoundedToWhole ? formatAmount(atoms, address, token, true) : text;
  };
  const sold = format(part.sellAmount, order.sellAmount, order.sellToken, sell);
  return `${sold} for ${format(part.buyAmount, order.buyAmount, order.buyToken, buy)}`;
}

type ExchangedOrder = ExchangedAmounts & Pick<Order, 'sellToken' | 'buyToken'>;

interface ExchangedAmounts {
  readonly sellAmount: string;
  readonly buyAmount: string;
}
