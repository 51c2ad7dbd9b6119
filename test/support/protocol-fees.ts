import fc from 'fast-check';
import type { FeeTrade, WireFeePolicy } from '../../src/protocol/protocol-fees.ts';
import type { Rational } from './rational.ts';
import { add, ceil, divide, floor, isLess, least, most, multiply, rational, subtract } from './rational.ts';

const ONE = rational(1n);

/** Reads a factor from its decimal digits, so that no binary fraction is involved. */
function exact(factor: number): Rational {
  const text = factor.toFixed(6);
  if (Number(text) !== factor) throw new Error(`${factor} has more than six decimals`);
  return rational(BigInt(text.replace('.', '')), 1_000_000n);
}

/**
 * Computes the fees of a trade in exact fractions, from the meaning of each policy: `fee = factor × x`, where x is the
 * volume or the surplus before that fee. So x is solved from the amounts after the fee.
 */
export function expectedFees(trade: FeeTrade, policies: readonly WireFeePolicy[]): bigint[] {
  const isSale = trade.kind === 'sell';
  let [sold, bought] = [rational(trade.sold), rational(trade.bought)];
  const fees: bigint[] = [];
  for (const policy of policies.toReversed()) {
    const volumeShare = (factor: Rational) => {
      // Sale: bought = x - f x. Purchase: sold = x + f x.
      const before = isSale ? divide(bought, subtract(ONE, factor)) : divide(sold, add(ONE, factor));
      return multiply(before, factor);
    };
    const surplusShare = (factor: Rational, price: Rational) => {
      const owed = isSale ? rational(ceil(multiply(sold, price))) : sold;
      const gained = isSale ? subtract(bought, owed) : subtract(rational(floor(divide(bought, price))), sold);
      const surplus = isLess(gained, rational(0n)) ? rational(0n) : gained;
      return multiply(divide(surplus, subtract(ONE, factor)), factor);
    };
    let fee: Rational;
    if ('volume' in policy) fee = volumeShare(exact(policy.volume.factor));
    else if ('surplus' in policy) {
      const { factor, maxVolumeFactor } = policy.surplus;
      const limit = rational(trade.buyAmount, trade.sellAmount);
      fee = least(surplusShare(exact(factor), limit), volumeShare(exact(maxVolumeFactor)));
    } else {
      const { factor, maxVolumeFactor, quote } = policy.priceImprovement;
      fee = least(surplusShare(exact(factor), quotedPrice(trade, quote)), volumeShare(exact(maxVolumeFactor)));
    }
    const charged = floor(fee);
    fees.unshift(charged);
    if (isSale) bought = add(bought, rational(charged));
    else sold = subtract(sold, rational(charged));
  }
  return fees;
}

/** Bought atoms per sold atom of a quote after its fee, with amounts in whole atoms; at least the limit price. */
function quotedPrice(
  { kind, sellAmount, buyAmount }: FeeTrade,
  { sellAmount: sell, buyAmount: buy, fee }: { sellAmount: string; buyAmount: string; fee: string },
): Rational {
  const limit = rational(buyAmount, sellAmount);
  if (BigInt(buy) === 0n || BigInt(sell) === 0n) return limit;
  const rate = rational(BigInt(buy), BigInt(sell));
  if (kind === 'sell') {
    const net = subtract(rational(BigInt(buy)), rational(floor(multiply(rational(BigInt(fee)), rate))));
    const scaled = floor(divide(multiply(net, rational(sellAmount)), rational(BigInt(sell))));
    return most(limit, rational(scaled, sellAmount));
  }
  const whole = rational(BigInt(sell) + BigInt(fee));
  const scaled = floor(divide(multiply(whole, rational(buyAmount)), rational(BigInt(buy))));
  return scaled === 0n ? rational(2n ** 300n) : most(limit, rational(buyAmount, scaled));
}

const amount = fc.oneof(
  fc.bigInt({ min: 1n, max: 100n }),
  fc.bigInt({ min: 1n, max: 10n ** 24n }),
  fc.bigInt({ min: 1n, max: 2n ** 128n }),
);
const factor = fc.integer({ min: 0, max: 999_999 }).map((ppm) => ppm / 1_000_000);
const factors = fc.record({ factor, maxVolumeFactor: factor });
const quote = fc
  .tuple(fc.oneof(fc.constant(0n), amount), fc.oneof(fc.constant(0n), amount), fc.nat({ max: 1000 }))
  .map(([sell, buy, share]) => ({
    sellAmount: String(sell),
    buyAmount: String(buy),
    fee: String((sell * BigInt(share)) / 1000n),
  }));
const policy: fc.Arbitrary<WireFeePolicy> = fc.oneof(
  fc.record({ volume: fc.record({ factor }) }),
  fc.record({ surplus: factors }),
  fc.record({ priceImprovement: fc.tuple(factors, quote).map(([rest, quoted]) => ({ ...rest, quote: quoted })) }),
);

/** A trade that respects its limit, with up to six policies. */
export const feeCase: fc.Arbitrary<{ readonly trade: FeeTrade; readonly policies: readonly WireFeePolicy[] }> = fc
  .record({
    kind: fc.constantFrom<FeeTrade['kind']>('sell', 'buy'),
    sellAmount: amount,
    buyAmount: amount,
    share: fc.integer({ min: 1, max: 1000 }),
    gain: fc.integer({ min: 0, max: 3000 }),
    policies: fc.array(policy, { maxLength: 6 }),
  })
  .map(({ kind, sellAmount, buyAmount, share, gain, policies }) => {
    const part = (whole: bigint) => (whole * BigInt(share)) / 1000n || 1n;
    const [fixed, limit] = kind === 'sell' ? [part(sellAmount), buyAmount] : [part(buyAmount), sellAmount];
    const whole = kind === 'sell' ? sellAmount : buyAmount;
    const atLimit = kind === 'sell' ? (fixed * limit + whole - 1n) / whole : (fixed * limit) / whole;
    const other = kind === 'sell' ? (atLimit * BigInt(1000 + gain)) / 1000n : (atLimit * 1000n) / BigInt(1000 + gain);
    const [sold, bought] = kind === 'sell' ? [fixed, other] : [other, fixed];
    return { trade: { kind, sellAmount, buyAmount, sold, bought }, policies };
  });
