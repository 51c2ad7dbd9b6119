import type { Address, ForgottenAccount } from 'intentbook';
import { FORGOTTEN, getReferralText, REFERRAL_FEEDS } from 'intentbook/store-kit';
import { toBytes } from '../rows.ts';
import type { SqliteSession } from '../session.ts';

/** The number of the notification of forgotten log entries. The log starts at 1. */
const FORGOTTEN_SEQ = 0;

/** Creates the deletion of the personal data of an account. It is synchronous. */
export function createForget({ prefix: p, prepare, write }: SqliteSession) {
  const removeDeliveries = prepare(
    `DELETE FROM ${p}deliveries WHERE subscription IN (SELECT n FROM ${p}subscriptions WHERE account = ?)`,
  );
  const removeSubscriptions = prepare(`DELETE FROM ${p}subscriptions WHERE account = ?`);
  const removeInvitations = prepare(`DELETE FROM ${p}invitations WHERE account = ?`);
  const selectLogged = prepare(`SELECT DISTINCT notification FROM ${p}account_log WHERE account = ?`).pluck();
  const insertForgotten = prepare(
    `INSERT OR IGNORE INTO ${p}notifications (seq, id, account, type, at, body, visible) VALUES (?, ?, ?, ?, ?, ?, 0)`,
  );
  const replaceEntries = prepare(
    `UPDATE ${p}account_log SET account = ?, withdrawn = 1, notification = ? WHERE account = ?`,
  );
  const removeNotification = prepare(`DELETE FROM ${p}notifications WHERE seq = ?`);
  const findAffiliate = prepare(`SELECT 1 FROM ${p}affiliates WHERE wallet = ?`).pluck();
  const findReferral = prepare(
    `SELECT 1 FROM ${p}progress_markers WHERE feed > ? AND feed < ? AND instr(value, ?) > 0 LIMIT 1`,
  ).pluck();
  const removeAffiliate = prepare(`DELETE FROM ${p}affiliates WHERE wallet = ?`);

  function forgetNotifications(owner: Buffer): number {
    const seqs = selectLogged.all(owner);
    if (seqs.length === 0) return 0;
    const { id, type, at, body } = FORGOTTEN;
    const none = toBytes(FORGOTTEN.account);
    insertForgotten.run(FORGOTTEN_SEQ, id, none, type, at, body);
    replaceEntries.run(none, FORGOTTEN_SEQ, owner);
    for (const seq of seqs) removeNotification.run(seq);
    return seqs.length;
  }

  function forgetAffiliate(account: Address, owner: Buffer): ForgottenAccount['affiliate'] {
    if (findAffiliate.get(owner) === undefined) return 'none';
    const referral = getReferralText(account);
    if (findReferral.get(REFERRAL_FEEDS, `${REFERRAL_FEEDS}\u{10ffff}`, referral) !== undefined) return 'kept';
    removeAffiliate.run(owner);
    return 'deleted';
  }

  return (account: Address): ForgottenAccount =>
    write('forget an account', () => {
      const owner = toBytes(account);
      removeDeliveries.run(owner);
      const subscriptions = Number(removeSubscriptions.run(owner).changes);
      removeInvitations.run(owner);
      const notifications = account === FORGOTTEN.account ? 0 : forgetNotifications(owner);
      return { subscriptions, notifications, affiliate: forgetAffiliate(account, owner) };
    });
}
