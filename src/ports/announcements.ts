import type { Address } from '../protocol/hex.ts';

/** Something that an account is told and no order has caused: what the people of a site have written. */
export interface Announcement {
  /** Its number where it comes from: a whole number from 0 up, one for each. */
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly message: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/**
 * Where announcements come from. Called for every page of an account's list, with a deadline, at which `signal` is aborted.
 * All that the account is to see are answered, in any order. What cannot be read MUST reject.
 */
export type AnnouncementSource = (
  account: Address,
  call: { readonly signal: AbortSignal },
) => Promise<readonly Announcement[]>;
