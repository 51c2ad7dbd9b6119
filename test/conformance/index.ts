export type { ManualClock } from '../support/clock.ts';
export { manualClock } from '../support/clock.ts';
export type { AccountStorage, AccountStoreHarness } from './accounts/harness.ts';
export { accountStoreConformance } from './accounts/index.ts';
export type { OrderChoice, OrderFactory, OrderFactoryOptions } from './fixtures/order-factory.ts';
export { createOrderFactory } from './fixtures/order-factory.ts';
export type { ChainScript, ScriptedChain } from './fixtures/scripted-chain.ts';
export { scriptedChain, UNLIMITED_FUNDS } from './fixtures/scripted-chain.ts';
export type { HistoryEntry, LinearizabilityResult, SequentialModel } from './history/linearizability.ts';
export { checkLinearizability } from './history/linearizability.ts';

import { ADOPT } from './adopt.ts';
import { APP_DATA } from './app-data.ts';
import { AUCTIONS } from './auctions.ts';
import { CANCEL } from './cancel.ts';
import { CHAIN } from './chain.ts';
import { EVENTS } from './events.ts';
import { EXPIRY } from './expiry.ts';
import type { ConformanceCase, Rule, StoreHarness } from './harness.ts';
import { assertHarness, caseOf } from './harness.ts';
import { INSERT } from './insert.ts';
import { JUST_IN_TIME } from './just-in-time.ts';
import { LEASES } from './leases.ts';
import { LIST } from './list.ts';
import { OPENING } from './opening.ts';
import { PRUNING } from './pruning.ts';
import { QUOTAS } from './quotas.ts';
import { QUOTES } from './quotes.ts';
import { READ } from './read.ts';
import { REPLACE } from './replace.ts';
import { RETENTION } from './retention.ts';
import { TASKS } from './tasks.ts';

export type { ConformanceCase, Storage, StoreHarness } from './harness.ts';

const GROUPS: Readonly<Record<string, readonly Rule[]>> = {
  opening: OPENING,
  insert: INSERT,
  quotas: QUOTAS,
  replace: REPLACE,
  read: READ,
  list: LIST,
  cancel: CANCEL,
  'app data': APP_DATA,
  quotes: QUOTES,
  events: EVENTS,
  chain: CHAIN,
  adopt: ADOPT,
  justInTime: JUST_IN_TIME,
  expiry: EXPIRY,
  pruning: PRUNING,
  retention: RETENTION,
  auctions: AUCTIONS,
  leases: LEASES,
  tasks: TASKS,
};

/**
 * Returns the contract of a store as cases for any test runner. A store that passes all cases can be used by a book.
 *
 * @example
 * for (const { group, name, skip, run } of storeConformance(harness)) {
 *   test(`${group}: ${name}`, { skip }, run); // node:test prints why a case is skipped
 * }
 *
 * @throws TypeError if the harness lacks `traits` or `create`, or if an exception names no case.
 */
export function storeConformance(harness: StoreHarness): ConformanceCase[] {
  assertHarness('storeConformance', harness);
  const cases = Object.entries(GROUPS).flatMap(([group, rules]) => rules.map((rule) => caseOf(harness, group, rule)));
  for (const name of Object.keys(harness.exceptions ?? {})) {
    if (!cases.some((each) => each.name === name)) throw new TypeError(`exceptions: there is no case "${name}"`);
  }
  return cases;
}
