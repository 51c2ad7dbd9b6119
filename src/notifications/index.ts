/**
 * Notifications of accounts: their rules and messages, subscriptions, and deliveries over channels.
 *
 * @module
 */

export type { DeliveryOptions } from './delivery-dispatcher.ts';
export type { Notification } from './notification.ts';
export type { NotificationPage, NotificationQuery, RenderedNotifications } from './notification-list.ts';
export type { NotificationStreamEvent } from './notification-stream.ts';
export { type AccountBacklog, createNotifications, type DeliveryApi, type NotificationApi } from './notifications.ts';
export type {
  CreatedSubscription,
  SubscriptionApi,
  SubscriptionProof,
  SubscriptionRequest,
  SubscriptionView,
} from './subscriptions.ts';
