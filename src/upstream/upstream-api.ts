import type { UpstreamOrderStatus, UpstreamStatus } from '../ports/upstream.ts';
import type { Hex } from '../protocol/hex.ts';
import type { OwnerTask, RelayState } from './tasks.ts';

/** What to follow. Everything is durable: a restart continues. */
export interface UpstreamScope {
  /**
   * Owners whose orders are imported, newest first. New orders that they place elsewhere are then found within 5 s with
   * one or two owners. With N owners and 1.5 reads a second, the interval is 2 s × N, and shorter after a recent order.
   */
  readonly owners?: readonly string[];
  /** Orders, by UID. */
  readonly uids?: readonly string[];
  /**
   * Hashes of app data: orders with it are followed from their first settlement on. The other book cannot list orders
   * by app data, so open orders that have never traded are not found. Needs `indexer`.
   */
  readonly appData?: readonly string[];
}

/** What is known of an order with regard to the other book. */
export interface UpstreamOrderState {
  readonly uid: Hex;
  /** On its way to the other book. Absent: it has arrived, or was not submitted here. */
  readonly relay?: {
    readonly state: RelayState;
    /** Number of times it was sent. */
    readonly sent: number;
    /** The last reason for the state, with the code of the other book if there is one. */
    readonly reason?: string;
    readonly code?: string;
  };
  /** When the newest read that counts was sent, in milliseconds since 1970. */
  readonly readAt?: number;
  /** The status in that read. */
  readonly status?: UpstreamOrderStatus;
  /**
   * Whether nothing can change any more: the order has ended, and the time in which a reorganisation, or a block that
   * was indexed late, can change that has passed. That time begins with the last change of a followed order, and with
   * `validTo` of another one.
   */
  readonly final: boolean;
}

/** The import of an owner. */
export interface UpstreamOwnerState extends Pick<OwnerTask, 'phase' | 'offset' | 'skipped' | 'orders' | 'trades'> {}

/** The state of the connection to the other book. */
export interface UpstreamState extends UpstreamStatus {
  /** The host of the other book. */
  readonly upstream: string;
  /** Number of orders that are followed. */
  readonly orders: number;
  /** Number of owners that are followed. */
  readonly owners: number;
  /** Number of orders on their way to the other book, and of those that it rejected in the last week. */
  readonly relayed: number;
  /** Milliseconds by which the oldest due read is late. */
  readonly lag: number;
  /** Age of what is known of the order that is read next, in milliseconds. */
  readonly staleness: number;
}

/** The orders of another book that this one follows. */
export interface UpstreamApi {
  /** Follows owners, orders and app data. Of followed owners, the first 64 of a call are read at once. */
  follow(scope: UpstreamScope): Promise<void>;
  /** Follows them no more. What is stored stays. */
  unfollow(scope: UpstreamScope): Promise<void>;
  /** Reads an order, by its UID, or an owner, by its address, as soon as the request budget allows. */
  refresh(target: string): Promise<void>;
  /** Returns what is known of an order; `undefined` if this book does not have it. */
  order(uid: string): Promise<UpstreamOrderState | undefined>;
  /** Returns the import of an owner; `undefined` if it is not followed. */
  owner(address: string): Promise<UpstreamOwnerState | undefined>;
  state(): Promise<UpstreamState>;
}
