import type { KnownBook, SourceBook } from '../account-tools/account-books.ts';
import { AccountError } from '../account-tools/account-error.ts';
import type { AccountTools } from '../account-tools/account-tools.ts';
import { type ReadOptions, withDeadline } from '../concurrency/abort.ts';
import { mapAsync } from '../concurrency/map-async.ts';
import type { StreamLimits } from '../limits/index.ts';
import type { AccountStore } from '../ports/account-store.ts';
import type { AnnouncementSource } from '../ports/announcements.ts';
import type { Channel } from '../ports/channel.ts';
import type { Delivery, DeliveryCounts, DeliveryState } from '../ports/delivery-store.ts';
import type { Address } from '../protocol/hex.ts';
import type { Stream, StreamOptions } from '../streams/index.ts';
import { createStreamBroadcaster } from '../streams/index.ts';
import { assertKnownFilters, assertOptionsObject, getFilterNames } from '../validation/options.ts';
import { requireAccount } from '../validation/parameters.ts';
import { selectAnnouncements } from './announcements.ts';
import { createChannelMap, startChannels, stopChannels } from './channel-list.ts';
import type { DeliveryOptions } from './delivery-dispatcher.ts';
import { createDeliveryDispatcher } from './delivery-dispatcher.ts';
import { createFundingCheck } from './funding-check.ts';
import type { Notification } from './notification.ts';
import { createNotificationIndexer } from './notification-indexer.ts';
import type { Announced, NotificationPage, NotificationQuery, RenderedNotifications } from './notification-list.ts';
import { listNotifications } from './notification-list.ts';
import type { NotificationStreamEvent } from './notification-stream.ts';
import { createNotificationLog, toNotificationStreamEvent } from './notification-stream.ts';
import type { SubscriptionApi, SubscriptionSettings } from './subscriptions.ts';
import { createSubscriptions, hashToken } from './subscriptions.ts';

/** Notification methods. Each rejects with an `AccountError` of status 503 if notifications are off. */
export interface NotificationApi {
  /** Lists the notifications of an account, newest first. Rejects with `InvalidParameter` for an invalid parameter. */
  list(account: string, query?: NotificationQuery): Promise<NotificationPage>;
  /**
   * Streams the notifications of an account, from now on or from a position in the account log. Leaving the iteration
   * or aborting ends the stream; `close` ends all streams.
   */
  stream(account: string, options?: StreamOptions): Promise<AsyncIterable<NotificationStreamEvent>>;
  /** The same reads as JSON text, for the HTTP interface. */
  readonly rendered: {
    list(account: string, query?: NotificationQuery, options?: ReadOptions): Promise<RenderedNotifications>;
    stream(account: string, options?: StreamOptions): Promise<Stream>;
  };
}

/** Delivery methods for operators. */
export interface DeliveryApi {
  /** Lists deliveries in a state, oldest first, only those above `after`. Default of `limit`: 100. */
  list(query: { readonly state: DeliveryState; readonly after?: number; readonly limit?: number }): Promise<Delivery[]>;
  /** Makes dead deliveries pending again: those with the given `seq`, or all. Returns their number. */
  replay(seqs?: readonly number[]): Promise<number>;
}

/** The backlog of notifications and deliveries, for monitoring. */
export interface AccountBacklog {
  /** Numbers of pending and dead deliveries. */
  readonly deliveries: DeliveryCounts;
  /** For each book, in order: the number of log entries that are not processed yet. */
  readonly books: readonly { readonly book: SourceBook; readonly entries: number }[];
}

/** The parsed options of notifications. */
export interface NotificationSettings extends SubscriptionSettings {
  /** If `off`, nothing is created or served. Subscriptions can still be listed and removed. */
  readonly mode: 'on' | 'off';
  readonly channels: readonly Channel[];
  readonly announcements: AnnouncementSource | undefined;
  readonly deliveries: Required<DeliveryOptions>;
  readonly streams: Required<StreamLimits>;
  /** Milliseconds between two checks of whether open orders are funded. */
  readonly fundingInterval: number | 'off';
  /** Milliseconds that notifications are kept. `undefined`: without limit. */
  readonly retention: number | undefined;
  /** Whether fills and cancellations that were reverted are notified as `order_reverted`. */
  readonly revertedNotifications: boolean;
}

export function createNotifications(tools: AccountTools, settings: NotificationSettings) {
  const { books, store, clock, random, onFailure, assertStarted } = tools;
  const { mode, fundingInterval } = settings;
  const { broadcaster, wakeStreams } = createNotificationStreams(tools, settings.streams);
  const channels = createChannelMap(settings.channels);
  const dispatcher = createDeliveryDispatcher({ ...tools, ...settings.deliveries, channels, jitter: random.fraction });

  /** Called after entries were written to the account log. */
  function onAppended(): void {
    wakeStreams();
    dispatcher.wake();
  }

  const indexers = books.map((book) => createNotificationIndexer({ ...tools, ...settings, book, onAppended }));
  const checked = fundingInterval === 'off' ? [] : books.filter(({ book }) => book.balances.available);
  const interval = Number(fundingInterval);
  const fundingChecks = checked.map((book) =>
    createFundingCheck({ ...tools, book, onAppended, holder: random.uuid(), interval }),
  );
  const subscriptions = createSubscriptions({
    ...tools,
    ...settings,
    channels,
    random: random.bytes,
    async hasOrders(account) {
      const found = await Promise.all(books.map(({ book }) => book.orders.list({ owner: account, limit: 1 })));
      return found.some(({ orders }) => orders.length > 0);
    },
  });

  function assertOn(): void {
    if (mode === 'off') throw new AccountError(503, 'Notifications are disabled');
    assertStarted();
  }

  const rendered: NotificationApi['rendered'] = {
    async list(account, query = {}, options = {}) {
      assertOn();
      assertOptionsObject('notifications.rendered.list', options);
      const find = (given: Address) => announce(given, tools, settings.announcements);
      return listNotifications(store, account, query, find, options);
    },
    async stream(account, options) {
      assertOn();
      return broadcaster.subscribe(requireAccount(account), options);
    },
  };

  return {
    methods: {
      async list(account, query) {
        const { notifications, next } = await rendered.list(account, query);
        const parsed = notifications.map((text) => JSON.parse(text) as Notification); // JSON of notifications
        return next === undefined ? { notifications: parsed } : { notifications: parsed, next };
      },
      async stream(account, options) {
        return mapAsync(await rendered.stream(account, options), toNotificationStreamEvent);
      },
      rendered,
    } satisfies NotificationApi,
    subscriptions: {
      ...subscriptions,
      // It would receive nothing. Existing ones can still be listed and removed.
      async create(account, request, caller) {
        assertOn();
        return subscriptions.create(account, request, caller);
      },
    } satisfies SubscriptionApi,
    deliveries: createDeliveryApi(tools, dispatcher.wake),
    async backlog(): Promise<AccountBacklog> {
      assertStarted();
      const backlogs = mode === 'off' ? [] : await Promise.all(books.map((book) => readBacklog(book, store)));
      return { deliveries: await store.deliveries.count(), books: backlogs };
    },
    /** The indexers, checks and deliveries, to start after the store was opened. */
    workers(): readonly { start(): void }[] {
      if (mode === 'off') return [];
      const notifying = [...indexers, ...fundingChecks];
      if (channels.size === 0) return notifying;
      const confirm = async (token: string, target: string) =>
        (await store.subscriptions.confirm({ tokenHash: hashToken(token), now: clock.now(), target })) !== undefined;
      const listening = { start: () => startChannels(channels, { confirm, report: onFailure }) };
      return [...notifying, dispatcher, listening];
    },
    async stop() {
      broadcaster.close();
      for (const each of [...indexers, ...fundingChecks]) await each.stop();
      await dispatcher.stop();
      await stopChannels(channels, onFailure);
    },
  };
}

/** Creates the streams of the account log, and the function that reads the log for them at once. */
function createNotificationStreams({ store, onFailure }: AccountTools, limits: Required<StreamLimits>) {
  const hints = new Set<() => void>();
  const broadcaster = createStreamBroadcaster({
    // Each account resumes from the store, independent of the buffers of other accounts.
    ...limits,
    onFailure,
    log: createNotificationLog(store, (hint) => {
      hints.add(hint);
      const unwatch = store.notifications.watch(hint);
      return () => {
        hints.delete(hint);
        unwatch();
      };
    }),
  });
  const wakeStreams = () => {
    for (const hint of [...hints]) hint();
  };
  return { broadcaster, wakeStreams };
}

/** Returns the announcements for an account. Without the content system, there are none. */
async function announce(
  account: Address,
  { clock, deadline, onFailure }: AccountTools,
  announcements: AnnouncementSource | undefined,
): Promise<Announced> {
  if (announcements === undefined) return { announcements: [], failed: false };
  try {
    const result = await withDeadline(clock, deadline, (signal) => announcements(account, { signal }));
    return { announcements: selectAnnouncements(result, onFailure), failed: false };
  } catch (failure) {
    onFailure(failure); // own notifications do not depend on the content system
    return { announcements: [], failed: true };
  }
}

function createDeliveryApi({ store, clock, assertStarted }: AccountTools, wake: () => void): DeliveryApi {
  return {
    async list(query) {
      assertStarted();
      assertKnownFilters(getFilterNames(query), ['state', 'after', 'limit']);
      const { limit = 100, ...position } = query;
      return store.deliveries.list({ ...position, limit });
    },
    async replay(seqs) {
      assertStarted();
      const now = clock.now();
      const replayed = await store.deliveries.replay(seqs === undefined ? { now } : { seqs, now });
      wake();
      return replayed;
    },
  };
}

async function readBacklog({ book, feed }: KnownBook, store: AccountStore): Promise<AccountBacklog['books'][number]> {
  const cursor = (await store.notifications.cursor(feed)) ?? 0;
  const last = await book.log.last();
  // A log that ends before the cursor was made anew, and is read from its start.
  return { book, entries: cursor > last ? last : last - cursor };
}
