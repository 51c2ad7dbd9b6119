/**
 * The book behind this one: what is submitted here goes there, and what happens there is known here.
 *
 * @module
 */

import type { Relay } from '../admission/relay.ts';
import { lazy } from '../concurrency/lifecycle.ts';
import type { Hex } from '../protocol/hex.ts';
import type { SettledOrders, UpstreamFeatureContext } from './context.ts';
import type { UpstreamQuotes } from './quotes.ts';
import type { UpstreamApi } from './upstream-api.ts';

export type { UpstreamDifference } from '../records/reconcile.ts';
export type { RelayMode } from './context.ts';
export type {
  UpstreamApi,
  UpstreamOrderState,
  UpstreamOwnerState,
  UpstreamScope,
  UpstreamState,
} from './upstream-api.ts';

/** Seconds after `validTo` in which a block that was indexed late may still fill an order. */
export const EXPIRY_GRACE = 60;

/** Creates the upstream of a book; `undefined` without one. The code is loaded when the book starts. */
export function createUpstream(given: UpstreamFeatureContext) {
  const { upstream, assertStarted } = given;
  if (upstream === undefined) return undefined;
  const service = lazy(async () => (await import('./service.ts')).createUpstreamService({ ...given, upstream }));
  const use: typeof service.use = (job) => {
    assertStarted();
    return service.use(job);
  };

  return {
    relay: {
      submit: (orders, insert) => service.use(({ relay }) => relay.submit(orders, insert)),
      cancel: (request, uids) => service.use(({ relay }) => relay.cancel(request, uids)),
    } satisfies Relay,
    quotes: {
      request: (request, signal) => use(({ quotes }) => quotes.request(request, signal)),
      nativePrice: (token, signal) => use(({ quotes }) => quotes.nativePrice(token, signal)),
      stream: (request, signal) => use(({ quotes }) => quotes.stream(request, signal)),
    } satisfies UpstreamQuotes,
    methods: {
      follow: (scope) => use(({ methods }) => methods.follow(scope)),
      unfollow: (scope) => use(({ methods }) => methods.unfollow(scope)),
      refresh: (target) => use(({ methods }) => methods.refresh(target)),
      order: (uid) => use(({ methods }) => methods.order(uid)),
      owner: (address) => use(({ methods }) => methods.owner(address)),
      state: () => use(({ methods }) => methods.state()),
    } satisfies UpstreamApi,
    /** Follows orders of settlements whose app data is followed, and reads followed owners of orders with an event. */
    settled: (settlements: readonly SettledOrders[], uids: readonly Hex[]) =>
      service.use(({ settled }) => settled(settlements, uids)),
    status: upstream.status,
    /** Opens the connection. The store is open. */
    async prepare() {
      (await service.load()).open();
    },
    start() {
      for (const worker of service.loaded?.workers ?? []) worker.start();
    },
    /** Ends calls and background work. */
    async stop() {
      upstream.close();
      await Promise.all(service.loaded?.workers.map((worker) => worker.stop()) ?? []);
    },
  };
}
