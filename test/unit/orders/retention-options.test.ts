import { describe, expect, test } from 'vitest';
import { parseRetention } from '../../../src/orders/retention-options.ts';

describe('retention options', () => {
  test('are converted to seconds', () => {
    expect(parseRetention(2, undefined)).toEqual({ orders: 172_800 });
    expect(parseRetention({ events: 0.5, orders: 1, documents: 1, chainEvents: 3 }, 1000)).toEqual({
      orders: 86_400,
      events: 43_200,
      chainEvents: 259_200,
      documents: 86_400,
    });
    expect(parseRetention({ events: 1 }, 1000)).toEqual({ events: 86_400 });
    expect(parseRetention(undefined, 'off')).toBeUndefined();
  });

  test.each([
    [{ events: 0 }, 'retention.events must be a positive number of days, got 0'],
    [{ events: Number.POSITIVE_INFINITY }, 'retention.events must be a positive number of days'],
    [{ events: 1e300 }, 'retention.events must be a positive number of days, got 1e+300'],
    [{ chainEvents: 5 }, 'retention.chainEvents must be at least retention.orders, got 5'],
    [{ orders: 6, documents: 5 }, 'retention.documents must be at least retention.orders, got 5'],
  ])('%o are rejected', (options, message) => {
    expect(() => parseRetention(options, 1000)).toThrow(message);
  });

  test('reject unknown names, and need sweeps', () => {
    expect(() => parseRetention({ event: 1 } as object, 1000)).toThrow(
      'unknown option "event", did you mean "events"?',
    );
    expect(() => parseRetention({ events: 1 }, 'off')).toThrow('retention requires an expiryInterval other than "off"');
  });
});
