import type { SeededRandom } from '../machine/random.ts';

/** The ages at which books delete old data, in seconds. */
export interface RetentionAges {
  readonly orders: number;
  readonly chainEvents?: number;
  readonly documents?: number;
}

/** Draws ages that are much shorter than usual ones, so that orders are deleted soon after their end. */
export function drawRetentionAges(random: SeededRandom): RetentionAges {
  const orders = random.pick([1, 5, 20, 60]);
  return {
    orders,
    ...(random.chance(0.7) ? { chainEvents: orders + random.pick([0, 10]) } : {}),
    ...(random.chance(0.7) ? { documents: orders + random.pick([0, 10]) } : {}),
  };
}

/** Converts the ages to days. The book rounds them up to whole seconds. */
export function toDays({ orders, chainEvents, documents }: RetentionAges): {
  orders: number;
  chainEvents?: number;
  documents?: number;
} {
  const convert = (seconds: number) => (seconds - 0.5) / 86_400;
  return {
    orders: convert(orders),
    ...(chainEvents === undefined ? {} : { chainEvents: convert(chainEvents) }),
    ...(documents === undefined ? {} : { documents: convert(documents) }),
  };
}
