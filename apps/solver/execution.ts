import type { Address } from 'intentbook';
import { deductProtocolFees, MAX_UINT256 } from '#internal';
import type { Fill, Solution } from './types.ts';

/** The address that stands for native currency as a buy token (GPv2Transfer.sol). */
export const NATIVE: Address = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';

/** The amounts that one fill transfers, in atoms. */
export interface Execution {
  /** From the owner. */
  readonly sold: bigint;
  /** To the receiver. */
  readonly bought: bigint;
}

/**
 * Computes the prices of a trade: the uniform clearing prices, or, with fees, custom prices that include them. The
 * protocol fees are those of the policies of the order.
 *
 * @throws RangeError if a token of the order has no price.
 */
export function tradePrices(fill: Fill, prices: Solution['prices']) {
  const { order, executed, fee = 0n } = fill;
  const [sell, buy] = [prices[order.sellToken], prices[order.buyToken]];
  if (sell === undefined || buy === undefined || sell <= 0n || buy <= 0n) {
    throw new RangeError(`prices must contain ${order.sellToken} and ${order.buyToken}`);
  }
  const { sold, bought } = getGross(fill, prices);
  const protocolFee = getProtocolFee(fill, prices);
  if (fee === 0n && protocolFee === 0n) return { sell, buy };
  // The prices are the amounts, so that the contract computes exactly these.
  if (order.kind === 'sell') return { sell: bought - protocolFee, buy: executed };
  return { sell: executed, buy: sold + protocolFee };
}

/** Computes the transfers of a fill with its network fee, before protocol fees, which stay in the contract. */
export function getGross({ order, executed, fee = 0n }: Fill, prices: Solution['prices']): Execution {
  const { [order.sellToken]: sell = 1n, [order.buyToken]: buy = 1n } = prices;
  if (order.kind === 'sell') return { sold: executed, bought: ((executed - fee) * sell + buy - 1n) / buy };
  return { sold: (executed * buy) / sell + fee, bought: executed };
}

/** Computes the protocol fees of a fill, in atoms of the buy token for `sell`, of the sell token for `buy`. */
function getProtocolFee(fill: Fill, prices: Solution['prices']): bigint {
  // Orders of a book without fee policies may lack the member.
  const { kind, sellAmount, buyAmount, protocolFees = [] } = fill.order;
  if (protocolFees.length === 0) return 0n;
  const gross = getGross(fill, prices);
  const terms = { kind, sellAmount: BigInt(sellAmount), buyAmount: BigInt(buyAmount) };
  return deductProtocolFees({ ...terms, ...gross }, protocolFees);
}

/**
 * Computes the transfers of a fill, rounded as the contract rounds them (GPv2Settlement.sol, `computeTradeExecution`).
 */
export function getExecution(fill: Fill, prices: Solution['prices']): Execution {
  const { sell, buy } = tradePrices(fill, prices);
  const { executed } = fill;
  if (fill.order.kind === 'sell') return { sold: executed, bought: (executed * sell + buy - 1n) / buy };
  return { sold: (executed * buy) / sell, bought: executed };
}

/** Computes the signed amounts times the prices: an order pays `offer`, and its limit price demands `demand`. */
export function getLimitProducts(fill: Fill, prices: Solution['prices']) {
  const { sell, buy } = tradePrices(fill, prices);
  return { offer: BigInt(fill.order.sellAmount) * sell, demand: BigInt(fill.order.buyAmount) * buy };
}

/**
 * Checks the limit price of an order as the contract does: a product above 256 bits reverts (GPv2Settlement.sol,
 * `computeTradeExecution`: `order.sellAmount.mul(sellPrice) >= order.buyAmount.mul(buyPrice)`). Executed amounts are at
 * most the signed ones, so that their products are not larger.
 */
export function respectsLimit(fill: Fill, prices: Solution['prices']): boolean {
  const { offer, demand } = getLimitProducts(fill, prices);
  return demand <= offer && offer <= MAX_UINT256;
}

/**
 * Computes the surplus of a fill: the amount beyond the limit price.
 *
 * @returns Atoms of the buy token for `sell`, of the sell token for `buy`.
 */
export function getSurplus(fill: Fill, prices: Solution['prices']): bigint {
  const { sold, bought } = getExecution(fill, prices);
  const [sellAmount, buyAmount] = [BigInt(fill.order.sellAmount), BigInt(fill.order.buyAmount)];
  return fill.order.kind === 'sell'
    ? bought - (sold * buyAmount) / sellAmount
    : (bought * sellAmount) / buyAmount - sold;
}

/**
 * Computes the score of a solution: the surplus and the protocol fees of all fills, in wei. Those of a purchase are
 * converted to the buy token at its limit price. Tokens without a native price count as 0. So does a score above 256
 * bits: such a solution does not compete.
 */
export function getScore({ fills, prices }: Solution, nativePrices: Readonly<Record<Address, string>>): bigint {
  const score = fills.reduce((sum, fill) => {
    const { kind, buyToken, sellAmount, buyAmount } = fill.order;
    const native = buyToken === NATIVE ? 10n ** 18n : BigInt(nativePrices[buyToken] ?? '0');
    const gain = getSurplus(fill, prices) + getProtocolFee(fill, prices);
    const inBuyToken = kind === 'sell' ? gain : (gain * BigInt(buyAmount)) / BigInt(sellAmount);
    return sum + (inBuyToken * native) / 10n ** 18n;
  }, 0n);
  return score > 0n && score <= MAX_UINT256 ? score : 0n;
}

/** Returns the amount of the fixed token that an order has left to execute. */
export function getRemaining({ kind, sellAmount, buyAmount, executed }: Fill['order']): bigint {
  return BigInt(kind === 'sell' ? sellAmount : buyAmount) - BigInt(executed);
}
