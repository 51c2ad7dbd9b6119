import type { AccountLogEntry, Address, Affiliate, ForgottenAccount } from 'intentbook';
import { FORGOTTEN, getReferralText, REFERRAL_FEEDS } from '#internal';

type Entry = Omit<AccountLogEntry, 'body'>;

/**
 * Replaces the log entries of an account.
 *
 * @param log - Entries of all accounts.
 * @param logs - The same entries by account.
 * @returns The ids of the notifications to delete.
 */
export function forgetNotifications(account: Address, log: Entry[], logs: Map<string, Entry[]>): Set<string> {
  const own = account === FORGOTTEN.account ? undefined : logs.get(account);
  if (own === undefined || own.length === 0) return new Set();
  const replaced = new Map(
    own.map(({ id }): [number, Entry] => [
      id,
      { id, account: FORGOTTEN.account, type: 'withdrawn', notification: FORGOTTEN.id },
    ]),
  );
  log.forEach((entry, i) => {
    log[i] = replaced.get(entry.id) ?? entry;
  });
  logs.delete(account);
  const others = logs.get(FORGOTTEN.account) ?? [];
  logs.set(
    FORGOTTEN.account,
    [...others, ...replaced.values()].sort((a, b) => a.id - b.id),
  );
  return new Set(own.map(({ notification }) => notification));
}

/**
 * Deletes the affiliate code of an account, unless the value of a referred trade names the account.
 *
 * @param marks - Progress markers by feed.
 */
export function forgetAffiliate(
  account: Address,
  wallets: Map<string, Affiliate>,
  codes: Map<string, Affiliate>,
  marks: ReadonlyMap<string, ReadonlyMap<string, string>>,
): ForgottenAccount['affiliate'] {
  const affiliate = wallets.get(account);
  if (affiliate === undefined) return 'none';
  const feeds = [...marks].filter(([feed]) => feed.startsWith(REFERRAL_FEEDS));
  const values = feeds.flatMap(([, stored]) => [...stored.values()]);
  if (values.some((value) => value.includes(getReferralText(account)))) return 'kept';
  wallets.delete(account);
  codes.delete(affiliate.code);
  return 'deleted';
}
