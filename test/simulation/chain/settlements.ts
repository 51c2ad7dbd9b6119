import type { Hex } from 'intentbook';
import type { SeededRandom } from '../machine/random.ts';
import type { Pool } from '../orders/pool.ts';
import type { PoolOrder } from '../orders/pool-order.ts';
import { BUY_TOKEN, SELL_TOKEN } from '../orders/pool-order.ts';
import type { ChainFact } from './chain.ts';

/**
 * The orders of settlements that books store: all, or those of settlements that trade an order of the book. `off`: the
 * transactions of trades are no settlements, and books store none.
 */
export type SettlementMode = 'all' | 'own' | 'off';

export function drawSettlementMode(random: SeededRandom): SettlementMode {
  return random.chance(0.4) ? random.pick(['all', 'own', 'own']) : 'off';
}

/** The hash of `Settlement(address)`. */
const SETTLEMENT_TOPIC: Hex = '0x40338ce1a7c49204f0099533b1e9a7ee0a3d261f84974ab7af36105b8c4e9db4';

/** The solver of all settlements. */
export const SOLVER = `0x${'50'.repeat(20)}` as const;

/** The selector of `settle`. */
const SETTLE_SELECTOR = '13d79a0b';

/** Bits 5 and 6 of the flags of a trade (GPv2Trade.sol). */
const SCHEME_BITS = { eip712: 0, ethsign: 1 << 5, eip1271: 2 << 5, presign: 3 << 5 } as const;

const word = (value: bigint | number) => BigInt(value).toString(16).padStart(64, '0');
const encodeAddress = (address: string) => address.slice(2).padStart(64, '0');
const encodeBytes = (hex: string) => `${word(hex.length / 2)}${hex.padEnd(Math.ceil(hex.length / 64) * 64, '0')}`;
const encodeList = (items: readonly string[]) => `${word(items.length)}${items.join('')}`;

/** Encodes a list of values of dynamic size: their offsets from the first offset, then the values. */
function encodeDynamic(items: readonly string[]): string {
  let offset = items.length * 32;
  const offsets = items.map((item) => {
    const own = offset;
    offset += item.length / 2;
    return word(own);
  });
  return `${offsets.join('')}${items.join('')}`;
}

/** Returns whether the calldata of an order has other terms than the order, so that books must not store it. */
export function hasOtherTerms(order: PoolOrder | undefined): boolean {
  return order === undefined || order.placedBy !== undefined || order.index % 7 === 3;
}

/** Encodes the event that ends a settlement. */
export function encodeSettlementLog(): { topics: Hex[]; data: Hex } {
  return { topics: [SETTLEMENT_TOPIC, `0x${encodeAddress(SOLVER)}`], data: '0x' };
}

/**
 * Encodes the call of `settle` with the trades of a transaction. Each trade has its own pair of prices.
 *
 * @param auction - The auction that the settlement names: the last 8 bytes of the calldata.
 */
export function encodeSettleCall(trades: readonly ChainFact[], pool: Pool, auction: number | undefined): Hex {
  const orders = trades.map(({ order }) => pool.orders[order] as PoolOrder); // indexes are those of the pool
  const tokens = encodeList(orders.flatMap(() => [encodeAddress(SELL_TOKEN), encodeAddress(BUY_TOKEN)]));
  const prices = encodeList(trades.flatMap(({ sold, bought }) => [word(bought), word(sold)]));
  const encoded = orders.map((order, i) => encodeTrade(order, i, trades[i]));
  const list = `${word(encoded.length)}${encodeDynamic(encoded)}`;
  const interactions = encodeDynamic([word(0), word(0), word(0)]);
  const suffix = auction === undefined ? '' : auction.toString(16).padStart(16, '0');
  return `0x${SETTLE_SELECTOR}${encodeDynamic([tokens, prices, list, interactions])}${suffix}`;
}

function encodeTrade(order: PoolOrder, index: number, trade: ChainFact | undefined): string {
  const { terms, scheme, owner, creation } = order;
  const signature = (creation?.signature ?? '0x').slice(2);
  const bytes =
    scheme === 'presign' ? owner.slice(2) : scheme === 'eip1271' ? `${owner.slice(2)}${signature}` : signature;
  const kind = terms.kind === 'sell' ? 0 : 1;
  const partiallyFillable = 2;
  return [
    word(2 * index),
    word(2 * index + 1),
    encodeAddress(terms.receiver),
    word(BigInt(terms.sellAmount)),
    word(BigInt(terms.buyAmount)),
    word(terms.validTo),
    hasOtherTerms(order) ? word(1) : terms.appData.slice(2),
    word(0),
    word(kind | partiallyFillable | SCHEME_BITS[scheme]),
    word((terms.kind === 'sell' ? trade?.sold : trade?.bought) ?? 0n),
    word(11 * 32),
    encodeBytes(bytes),
  ].join('');
}
