import { OrderBookError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { DecimalInput, GasPrice } from '../ports/estimator.ts';
import type { Decimal } from '../protocol/decimal.ts';
import { parseDecimal } from '../protocol/decimal.ts';
import { MAX_UINT256 } from '../protocol/uint256.ts';

/**
 * Finds out the price of gas, in wei for one unit, within `timeout` milliseconds.
 *
 * @returns the price, or `ChainUnavailable`.
 */
export type ReadGasPrice = (timeout: number) => Promise<Decimal | OrderBookError>;

/**
 * Reads the price of gas that the host gives or finds out. Quotes that ask at the same time share one answer.
 *
 * @param onFault told when the host's function fails or answers nonsense.
 * @throws TypeError when a fixed price is no decimal number.
 */
export function createGasPrice(given: GasPrice, clock: Clock, onFault: (fault: unknown) => void): ReadGasPrice {
  if (typeof given !== 'function') {
    const fixed = readPrice(given);
    if (fixed === undefined) throw new TypeError('createOrderBook: quotes.gasPrice must be a decimal number of wei');
    return async () => fixed;
  }
  let asking: Promise<Decimal | undefined> | undefined;
  const ask = async (): Promise<Decimal | undefined> => {
    try {
      const price = readPrice(await given());
      if (price === undefined) onFault(new TypeError('quotes.gasPrice has answered no decimal number of wei'));
      return price;
    } catch (fault) {
      onFault(fault);
      return undefined;
    }
  };
  const forget = (asked: Promise<unknown>) => {
    if (asking === asked) asking = undefined;
  };
  return async (timeout) => {
    if (asking === undefined) {
      const asked = ask();
      asking = asked;
      void asked.finally(() => forget(asked));
    }
    const shared = asking;
    // One that hangs is not waited for again.
    const price = await inTime(shared, timeout, clock, () => forget(shared));
    return price ?? new OrderBookError('ChainUnavailable', 'the gas price is unknown');
  };
}

function readPrice(value: DecimalInput): Decimal | undefined {
  const price = parseDecimal(value);
  return price !== undefined && price.digits / 10n ** BigInt(price.scale) <= MAX_UINT256 ? price : undefined;
}

function inTime<T>(promise: Promise<T>, timeout: number, clock: Clock, onLate: () => void): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(timeout, () => {
      onLate();
      resolve(undefined);
    });
    void promise.then(resolve, reject).finally(cancel);
  });
}
