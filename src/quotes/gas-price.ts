import { OrderBookError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Decimal } from '../protocol/decimal.ts';
import type { ReadGasPriceOption } from './quote-options.ts';
import { readPrice } from './quote-options.ts';

/**
 * Finds out the price of gas, in wei for one unit, within `timeout` milliseconds.
 *
 * @returns the price; `ChainUnavailable` when it cannot be found out, or `NoLiquidity` when only the caller's time was
 *   too short for it. Rejects with the signal's reason when it is aborted.
 */
export type ReadGasPrice = (timeout: number, signal?: AbortSignal) => Promise<Decimal | OrderBookError>;

export interface GasPriceOptions {
  readonly clock: Clock;
  /** Milliseconds after which a question that has no answer is asked again. */
  readonly timeout: number;
  /** Milliseconds after the question in which its answer is still given. */
  readonly lifetime: number;
  /** Told when the host's function fails or answers nonsense. */
  readonly onFailure: (failure: unknown) => void;
}

/** The host's function having been asked. */
interface CachedGasPrice {
  readonly at: number;
  readonly price: Promise<Decimal | undefined>;
  /** Milliseconds for which it is as good as asking again. */
  goodFor: number;
}

/** Reads the price of gas that the host gives or finds out. Quotes that ask at about the same time share one answer. */
export function createGasPrice(
  given: ReadGasPriceOption,
  { clock, timeout, lifetime, onFailure }: GasPriceOptions,
): ReadGasPrice {
  if (typeof given !== 'function') return async () => given;
  const askHost = async (): Promise<Decimal | undefined> => {
    try {
      const price = readPrice(await given());
      if (price === undefined) onFailure(new TypeError('quotes.gasPrice has answered no decimal number of wei'));
      return price;
    } catch (failure) {
      onFailure(failure);
      return undefined;
    }
  };
  const ask = (): CachedGasPrice => {
    const question = { at: clock.now(), price: askHost(), goodFor: timeout };
    void question.price.then((price) => {
      question.goodFor = price === undefined ? 0 : lifetime;
    });
    return question;
  };

  let last: CachedGasPrice | undefined;
  return async (patience, signal) => {
    const age = last === undefined ? -1 : clock.now() - last.at;
    // A clock may step back. How long one who waits is ready to does not say that the question is lost.
    const asked = last !== undefined && age >= 0 && age < last.goodFor ? last : ask();
    last = asked;
    const price = await inTime(asked.price, patience, clock, signal);
    if (price === 'late' && patience < timeout) {
      return new OrderBookError('NoLiquidity', 'the price of gas was not known in time');
    }
    return price === 'late' || price === undefined
      ? new OrderBookError('ChainUnavailable', 'the gas price is unknown')
      : price;
  };
}

function inTime<T>(promise: Promise<T>, patience: number, clock: Clock, signal?: AbortSignal): Promise<T | 'late'> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void) => {
      cancel();
      signal?.removeEventListener('abort', abort);
      settle();
    };
    const abort = () => finish(() => reject(signal?.reason));
    const cancel = clock.after(patience, () => finish(() => resolve('late')));
    if (signal?.aborted) return abort();
    signal?.addEventListener('abort', abort);
    void promise.then(
      (value) => finish(() => resolve(value)),
      (failure) => finish(() => reject(failure)),
    );
  });
}
