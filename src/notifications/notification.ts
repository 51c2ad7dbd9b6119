import type { NotificationType } from '../ports/notification-store.ts';
import type { Address } from '../protocol/hex.ts';

/** A notification in wire format. */
export interface Notification {
  readonly id: string;
  readonly account: Address;
  /** The type of the order event, or `cms` for a content system. */
  readonly type: NotificationType | 'cms';
  /** Text for people. */
  readonly message: string;
  /** Time of the cause, ISO 8601 in UTC with milliseconds. */
  readonly timestamp: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}
