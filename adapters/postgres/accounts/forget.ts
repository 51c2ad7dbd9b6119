import type { Address, ForgottenAccount } from 'intentbook';
import { FORGOTTEN, getReferralText, REFERRAL_FEEDS } from 'intentbook/store-kit';
import type { Query } from '../query.ts';
import { toBytes } from '../rows.ts';
import type { PostgresSession } from '../session.ts';
import type { AcquireLock } from './serial-lock.ts';

/** Creates the deletion of the personal data of an account. */
export function createForget({ schema: s, prepare, write }: PostgresSession, acquireLock: AcquireLock) {
  // Deliveries are deleted with their subscription.
  const removeSubscriptions = prepare(`DELETE FROM ${s}.subscriptions WHERE account = $1 RETURNING 1`);
  const removeInvitations = prepare(`DELETE FROM ${s}.invitations WHERE account = $1`);
  const selectLogged = prepare<readonly [string]>(`SELECT DISTINCT notification FROM ${s}.log WHERE account = $1`);
  const insertForgotten = prepare(
    `INSERT INTO ${s}.notifications (seq, id, account, type, at, body, visible) VALUES (0, $1, $2, $3, $4, $5, false) ` +
      'ON CONFLICT DO NOTHING',
  );
  const replaceEntries = prepare(
    `UPDATE ${s}.log SET account = $1, withdrawn = true, notification = $2 WHERE account = $3`,
  );
  const removeNotifications = prepare(`DELETE FROM ${s}.notifications WHERE id = ANY($1::text[])`);
  const findAffiliate = prepare(`SELECT 1 FROM ${s}.affiliates WHERE wallet = $1`);
  const findReferral = prepare(
    `SELECT 1 FROM ${s}.progress_markers WHERE starts_with(feed, $1) AND strpos(value, $2) > 0 LIMIT 1`,
  );
  const removeAffiliate = prepare(`DELETE FROM ${s}.affiliates WHERE wallet = $1`);

  async function forgetNotifications(run: Query, owner: string): Promise<number> {
    const ids = (await run(selectLogged, owner)).map(([id]) => id);
    if (ids.length === 0) return 0;
    const { id, type, at, body } = FORGOTTEN;
    const none = toBytes(FORGOTTEN.account);
    await run(insertForgotten, id, none, type, at, body);
    await run(replaceEntries, none, id, owner);
    await run(removeNotifications, ids);
    return ids.length;
  }

  async function forgetAffiliate(run: Query, account: Address, owner: string): Promise<ForgottenAccount['affiliate']> {
    if ((await run(findAffiliate, owner)).length === 0) return 'none';
    if ((await run(findReferral, REFERRAL_FEEDS, getReferralText(account))).length > 0) return 'kept';
    await run(removeAffiliate, owner);
    return 'deleted';
  }

  return (account: Address): Promise<ForgottenAccount> =>
    write('forget an account', async (run) => {
      await acquireLock(run, 'log');
      await acquireLock(run, 'subscriptions');
      await acquireLock(run, 'affiliates');
      const owner = toBytes(account);
      const subscriptions = (await run(removeSubscriptions, owner)).length;
      await run(removeInvitations, owner);
      const notifications = account === FORGOTTEN.account ? 0 : await forgetNotifications(run, owner);
      return { subscriptions, notifications, affiliate: await forgetAffiliate(run, account, owner) };
    });
}
