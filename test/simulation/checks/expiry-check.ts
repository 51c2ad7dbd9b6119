import type { Pool } from '../orders/pool.ts';
import type { Model } from './model.ts';
import type { Report } from './store-observer.ts';

/** Seconds by which an expiry may be recorded early or late. Books tolerate clocks that differ by a minute. */
const CLOCK_TOLERANCE = 62;

export interface ExpiryCheckContext {
  readonly model: Model;
  readonly pool: Pool;
  /** Seconds since 1970. */
  readonly now: number;
}

/** Checks that the expiry of exactly those orders is recorded that have expired. */
export function checkExpiries({ model, pool, now }: ExpiryCheckContext, notify: Report): void {
  for (const n of model.placed.keys()) {
    const { state, isSwept } = model.standing(n);
    const validTo = pool.orders[n]?.validTo ?? 0;
    if (isSwept && validTo >= now + CLOCK_TOLERANCE) notify('liveness', `order ${n} is recorded as expired too early`);
    const isLive = state === 'open' || state === 'presignaturePending';
    if (isLive && !isSwept && validTo < now - CLOCK_TOLERANCE)
      notify('liveness', `the expiry of order ${n} is missing`);
  }
}
