import { DeadlineError, withDeadline } from '../concurrency/abort.ts';
import { OrderBookError } from '../errors.ts';
import { type Clock, isRecent, readMonotonic } from '../ports/clock.ts';
import type { Decimal } from '../protocol/decimal.ts';
import { type ParsedGasPrice, parsePrice } from './quote-options.ts';

/**
 * Returns the gas price, in wei per unit, within `timeout` milliseconds.
 *
 * @returns The price; `ChainUnavailable` if it cannot be determined, or `NoLiquidity` if only the caller's timeout was
 * too short. Rejects with the signal's reason when it is aborted.
 */
export type ReadGasPrice = (timeout: number, signal?: AbortSignal) => Promise<Decimal | OrderBookError>;

export interface GasPriceOptions {
  readonly clock: Clock;
  /** Time in milliseconds after which a pending call is abandoned and repeated. */
  readonly timeout: number;
  /** Time from the start of a call for which its result is reused, in milliseconds. */
  readonly lifetime: number;
  /** Reports an error or an invalid result of the host's function. */
  readonly onFailure: (failure: unknown) => void;
}

/** A call of the host's function. */
interface CachedGasPrice {
  readonly at: number;
  readonly price: Promise<Decimal | undefined>;
  /** Time from the start for which the call is reused, in milliseconds. */
  ttl: number;
}

/**
 * Creates a reader of the gas price that the host supplies. Concurrent quotes share one call of the host's function.
 */
export function createGasPrice(
  given: ParsedGasPrice,
  { clock, timeout, lifetime, onFailure }: GasPriceOptions,
): ReadGasPrice {
  if (typeof given !== 'function') return async () => given;
  const callHost = async (): Promise<Decimal | undefined> => {
    try {
      const price = parsePrice(await given());
      if (price === undefined)
        onFailure(new TypeError('the result of quotes.gasPrice must be a decimal number of wei'));
      return price;
    } catch (failure) {
      onFailure(failure);
      return undefined;
    }
  };
  const startCall = (): CachedGasPrice => {
    const call = { at: readMonotonic(clock), price: callHost(), ttl: timeout };
    void call.price.then((price) => {
      call.ttl = price === undefined ? 0 : lifetime;
    });
    return call;
  };

  let last: CachedGasPrice | undefined;
  return async (callerTimeout, signal) => {
    // The caller's timeout does not affect the shared call.
    const current = last !== undefined && isRecent(clock, last.at, last.ttl) ? last : startCall();
    last = current;
    if (signal?.aborted) throw signal.reason;
    const price = await withDeadline(clock, callerTimeout, () => current.price, signal).catch((failure: unknown) => {
      if (failure instanceof DeadlineError) return 'late' as const;
      throw failure;
    });
    if (price === 'late' && callerTimeout < timeout) {
      return new OrderBookError('NoLiquidity', 'the gas price was not available in time');
    }
    return price === 'late' || price === undefined
      ? new OrderBookError('ChainUnavailable', 'the gas price is unknown')
      : price;
  };
}
