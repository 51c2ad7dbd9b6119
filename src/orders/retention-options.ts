import { assertKnownOptions } from '../validation/options.ts';

/**
 * Days that data is kept. Data without a number is never deleted. Chain events and documents belong to orders, so they
 * need `orders`, which must not be larger.
 */
export interface RetentionOptions {
  /** Finished orders, after their end, with their quotes. */
  readonly orders?: number;
  /**
   * Entries of the event log. Readers that resume at a deleted entry receive a gap. Own affiliate statistics need the
   * whole log. An entry is kept for at least an hour.
   */
  readonly events?: number;
  /** Chain events of deleted orders, after the orders' signed validity. Their trades disappear from all listings. */
  readonly chainEvents?: number;
  /** App-data documents, after the end of the last order that used them. */
  readonly documents?: number;
}

const NAMES = ['orders', 'events', 'chainEvents', 'documents'] as const satisfies readonly (keyof RetentionOptions)[];

/** A step that has deleted old data. */
export interface PruneObservation {
  readonly data: keyof RetentionOptions;
  /** Number of deleted rows. */
  readonly removed: number;
}

/**
 * Parses the option `retention`, and returns seconds. A number is that of `orders`.
 *
 * @throws TypeError naming the option that is unknown or malformed.
 */
export function parseRetention(
  option: number | RetentionOptions | undefined,
  expiryInterval: number | 'off' | undefined,
): RetentionOptions | undefined {
  if (option === undefined) return undefined;
  const days = typeof option === 'object' ? option : { orders: option };
  assertKnownOptions('createOrderBook, retention', days, NAMES);
  const parsed: Partial<Record<keyof RetentionOptions, number>> = {};
  for (const name of NAMES) {
    const value = days[name];
    if (value === undefined) continue;
    const seconds = Math.ceil(value * 86_400);
    if (typeof value !== 'number' || !Number.isSafeInteger(seconds) || seconds <= 0) {
      const path = days === option ? `retention.${name}` : 'retention';
      throw new TypeError(`createOrderBook: ${path} must be a positive number of days, got ${JSON.stringify(value)}`);
    }
    const { orders = Number.POSITIVE_INFINITY } = days;
    if ((name === 'chainEvents' || name === 'documents') && value < orders)
      throw new TypeError(`createOrderBook: retention.${name} must be at least retention.orders, got ${value}`);
    parsed[name] = seconds;
  }
  if (expiryInterval !== 'off') return parsed;
  throw new TypeError('createOrderBook: retention requires an expiryInterval other than "off"');
}
