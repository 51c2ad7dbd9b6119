import type { Address } from '../protocol/hex.ts';

/** A message to an account that no order has caused, such as one that the operators of a site have written. */
export interface Announcement {
  /** Unique number in the source: a non-negative integer. */
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly message: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/**
 * The source of announcements. Called for every page of an account's list, with a deadline at which `signal` is
 * aborted. Returns all announcements for the account, in any order. MUST reject if they cannot be read.
 */
export type AnnouncementSource = (
  account: Address,
  call: { readonly signal: AbortSignal },
) => Promise<readonly Announcement[]>;
