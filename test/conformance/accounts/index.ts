import type { ConformanceCase } from '../harness.ts';
import { assertHarness } from '../harness.ts';
import { AFFILIATES } from './affiliates.ts';
import { DELIVERIES } from './deliveries.ts';
import { FORGET } from './forget.ts';
import type { AccountRule, AccountStoreHarness } from './harness.ts';
import { caseOf } from './harness.ts';
import { NOTIFICATIONS } from './notifications.ts';
import { RETENTION } from './retention.ts';
import { SUBSCRIPTIONS } from './subscriptions.ts';

const GROUPS: Readonly<Record<string, readonly AccountRule[]>> = {
  notifications: NOTIFICATIONS,
  affiliates: AFFILIATES,
  subscriptions: SUBSCRIPTIONS,
  deliveries: DELIVERIES,
  retention: RETENTION,
  forget: FORGET,
};

/**
 * Returns the contract of an account store as cases for any test runner; see `storeConformance`.
 *
 * @throws TypeError if the harness lacks `traits` or `create`, or if an exception names no case.
 */
export function accountStoreConformance(harness: AccountStoreHarness): ConformanceCase[] {
  assertHarness('accountStoreConformance', harness);
  const cases = Object.entries(GROUPS).flatMap(([group, rules]) => rules.map((rule) => caseOf(harness, group, rule)));
  for (const name of Object.keys(harness.exceptions ?? {})) {
    if (!cases.some((each) => each.name === name)) throw new TypeError(`exceptions: there is no case "${name}"`);
  }
  return cases;
}
