import type { InvitationLimit, InvitationLimits, Subscription, UsedNonce } from 'intentbook';
import { readSubscription, type SubscriptionRow } from '#internal';
import { toBytes, toHexText } from '../rows.ts';
import type { AccountOperations, SqliteSession } from '../session.ts';

/** Columns of a {@link SubscriptionRow}. `s` is the table of subscriptions. */
export const subscriptionColumns =
  `s.id, ${toHexText('s.account')} AS account, s.channel, s.target, s.types, s.secret, s.created_at AS createdAt, ` +
  `CASE WHEN s.active = 1 THEN 'active' WHEN s.suspended = 1 THEN 'suspended' ELSE 'pending' END AS state, ` +
  's.failing_since AS failingSince';

/** Creates the operations on subscriptions. They are synchronous: a call has taken effect when it returns. */
export function createSubscriptionTable(session: SqliteSession): AccountOperations['subscriptions'] {
  const { prefix: p, prepare, read, write } = session;
  const invitations = createInvitations(session);
  const columns = `${subscriptionColumns} FROM ${p}subscriptions s`;
  const selectNonce = prepare(`SELECT 1 FROM ${p}nonces WHERE account = ? AND nonce = ?`).pluck();
  const insertNonce = prepare(`INSERT INTO ${p}nonces (account, nonce, expires_at) VALUES (?, ?, ?)`);
  const insert = prepare(
    `INSERT INTO ${p}subscriptions (id, account, channel, target, types, active, secret, created_at, token_hash, ` +
      'expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const select = prepare(`SELECT ${columns} WHERE s.account = ? ORDER BY s.n`);
  const count = prepare(`SELECT count(*) FROM ${p}subscriptions WHERE account = ?`).pluck();
  const sweep = prepare(`DELETE FROM ${p}subscriptions WHERE active = 0 AND expires_at < ?`);
  const confirm = prepare(
    `UPDATE ${p}subscriptions SET active = 1, target = coalesce(?, target), expires_at = NULL ` +
      `WHERE token_hash = ? AND expires_at >= ? AND coalesce(?, target) <> '' RETURNING n`,
  ).pluck();
  const findConfirmed = prepare(`SELECT ${columns} WHERE s.token_hash = ? AND s.active = 1`);
  const byNumber = prepare(`SELECT ${columns} WHERE s.n = ?`);
  const findSame = prepare(
    `SELECT n, active FROM ${p}subscriptions WHERE account = ? AND channel = ? AND target = ? AND n <> ? ` +
      `AND (active = 1 OR suspended = 1) AND target <> '' LIMIT 1`,
  ).raw();
  const setTypes = prepare(`UPDATE ${p}subscriptions SET types = ? WHERE n = ?`);
  const find = prepare(`SELECT n FROM ${p}subscriptions WHERE id = ? AND account = ?`).pluck();
  const remove = prepare(`DELETE FROM ${p}subscriptions WHERE n = ?`);
  const removeDeliveries = prepare(`DELETE FROM ${p}deliveries WHERE subscription = ?`);

  const isUsed = ({ account, nonce }: UsedNonce) => selectNonce.get(toBytes(account), nonce) !== undefined;

  function markUsed({ account, nonce, expiresAt }: UsedNonce): void {
    insertNonce.run(toBytes(account), nonce, expiresAt);
  }

  function removeByNumber(n: unknown): void {
    removeDeliveries.run(n);
    remove.run(n);
  }

  function update(n: number, types: string): Subscription {
    setTypes.run(types, n);
    return readSubscription(byNumber.get(n) as SubscriptionRow); // as selected
  }

  return {
    create: ({ subscription, confirmation, nonce, quota, invitation, now }) =>
      write('store a subscription', () => {
        sweep.run(now);
        if (isUsed(nonce)) return { status: 'used' };
        const { id, account, channel, target, types, state, secret, createdAt } = subscription;
        const owner = toBytes(account);
        const [same, isActive] = (findSame.get(owner, channel, target, 0) ?? []) as [number?, number?]; // as selected
        if (same !== undefined && isActive === 1) {
          markUsed(nonce);
          return { status: 'updated', subscription: update(same, JSON.stringify(types)) };
        }
        const others = Number(count.get(owner)) - (same === undefined ? 0 : 1);
        if (others >= quota) return { status: 'quotaExceeded', quota };
        const by = invitation === undefined ? undefined : invitations.check(subscription, invitation);
        if (by !== undefined) return { status: 'limited', by };
        markUsed(nonce);
        if (same !== undefined) removeByNumber(same);
        if (invitation !== undefined) invitations.add(subscription, invitation, now);
        const token = confirmation === undefined ? null : toBytes(confirmation.tokenHash);
        const expires = confirmation?.expiresAt ?? null;
        const active = state === 'active' ? 1 : 0;
        insert.run(id, owner, channel, target, JSON.stringify(types), active, secret, createdAt, token, expires);
        return { status: 'created' };
      }),

    confirm: ({ tokenHash, now, target }) =>
      write('confirm a subscription', () => {
        // An integer column.
        const n = confirm.get(target ?? null, toBytes(tokenHash), now, target ?? null) as number | undefined;
        if (n === undefined) {
          const confirmed = findConfirmed.get(toBytes(tokenHash)) as SubscriptionRow | undefined; // as selected
          return confirmed && readSubscription(confirmed);
        }
        const { account, channel, target: to, types } = byNumber.get(n) as SubscriptionRow; // as selected
        const found = findSame.get(toBytes(account), channel, to, n) ?? [];
        const [same, isActive] = found as [number?, number?]; // as selected
        if (same !== undefined) removeByNumber(isActive === 1 ? n : same);
        return update(isActive === 1 && same !== undefined ? same : n, types);
      }),

    list: (account) =>
      // As selected.
      read('read subscriptions', () => (select.all(toBytes(account)) as SubscriptionRow[]).map(readSubscription)),

    remove: ({ id, account, nonce, isUnsent }) =>
      write('remove a subscription', () => {
        if (nonce !== undefined && isUsed(nonce)) return 'used';
        if (nonce !== undefined) markUsed(nonce);
        const n = find.get(id, toBytes(account));
        if (n === undefined) return 'missing';
        if (isUnsent === true) invitations.withdraw(n);
        removeByNumber(n);
        return 'removed';
      }),
  };
}

/** Creates the operations on invitations, which count against the limits of their targets and senders. */
function createInvitations({ prefix: p, prepare }: SqliteSession) {
  const deleteOldInvitations = prepare(`DELETE FROM ${p}invitations WHERE sent_at < ?`);
  const selectWaiting = prepare(
    `SELECT 1 FROM ${p}subscriptions WHERE active = 0 AND suspended = 0 AND channel = ? AND target = ? LIMIT 1`,
  ).pluck();
  const countInvitations = prepare(
    `SELECT coalesce(sum(target = ?), 0), coalesce(sum(domain = ?), 0), count(*) FROM ${p}invitations WHERE channel = ?`,
  ).raw();
  const countByAccount = prepare(`SELECT count(*) FROM ${p}invitations WHERE account = ?`).pluck();
  const countByClient = prepare(`SELECT count(*) FROM ${p}invitations WHERE client = ?`).pluck();
  const insertInvitation = prepare(
    `INSERT INTO ${p}invitations (channel, target, account, client, domain, sent_at) VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const withdrawInvitation = prepare(
    `UPDATE ${p}invitations SET channel = '' WHERE (channel, target, account, sent_at) = ` +
      `(SELECT channel, target, account, created_at FROM ${p}subscriptions WHERE n = ?)`,
  );
  return {
    /** Returns the limit that forbids an invitation, if any. */
    check(
      { channel, target, account }: Subscription,
      { since, perTarget, perAccount, perClient, perDomain, perChannel, client, domain }: InvitationLimits,
    ): InvitationLimit | undefined {
      deleteOldInvitations.run(since);
      if (selectWaiting.get(channel, target) !== undefined) return 'pending';
      const counts = countInvitations.get(target, domain ?? null, channel) as [number, number, number]; // as selected
      const [ofTarget, ofDomain, ofChannel] = counts;
      if (ofTarget >= perTarget) return 'target';
      if (Number(countByAccount.get(toBytes(account))) >= perAccount) return 'account';
      if (Number(countByClient.get(client ?? null)) >= perClient) return 'client';
      if (ofDomain >= perDomain) return 'domain';
      return ofChannel >= perChannel ? 'channel' : undefined;
    },
    /** Lets the invitation of a subscription, which was not sent, count for its account and client only. */
    withdraw(n: unknown): void {
      withdrawInvitation.run(n);
    },
    add({ channel, target, account }: Subscription, { client, domain }: InvitationLimits, now: number): void {
      insertInvitation.run(channel, target, toBytes(account), client ?? null, domain ?? null, now);
    },
  };
}
