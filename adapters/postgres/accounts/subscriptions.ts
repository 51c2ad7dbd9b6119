import type { InvitationLimit, InvitationLimits, Subscription, SubscriptionStore, UsedNonce } from 'intentbook';
import { readSubscription, type SubscriptionRow } from '#internal';
import type { Query } from '../query.ts';
import { toBytes } from '../rows.ts';
import type { PostgresSession } from '../session.ts';
import type { AcquireLock } from './serial-lock.ts';

/** Columns of a {@link SubscriptionRow}. `w` is the table of subscriptions. */
export const subscriptionColumns =
  'w.id, w.account, w.channel, w.target, array_to_json(w.types)::text AS types, w.secret, w.created AS "createdAt", ' +
  `CASE WHEN w.active THEN 'active' WHEN w.suspended THEN 'suspended' ELSE 'pending' END AS state, ` +
  'w.failing_since AS "failingSince"';

function prepareStatements({ prepare, prepareObjects, schema: s }: PostgresSession) {
  type Counts = readonly [ofTarget: number, ofDomain: number, ofChannel: number, ofAccount: number, ofClient: number];
  return {
    deleteExpiredPending: prepare(`DELETE FROM ${s}.subscriptions WHERE NOT active AND token_expires < $1`),
    selectNonce: prepare(`SELECT 1 FROM ${s}.nonces WHERE account = $1 AND nonce = $2`),
    insertNonce: prepare(`INSERT INTO ${s}.nonces (account, nonce, expires) VALUES ($1, $2, $3)`),
    count: prepare<readonly [number]>(`SELECT count(*) FROM ${s}.subscriptions WHERE account = $1`),
    insert: prepare(
      `INSERT INTO ${s}.subscriptions (id, account, channel, target, types, active, secret, created, token_hash, ` +
        'token_expires) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)',
    ),
    deleteOldInvitations: prepare(`DELETE FROM ${s}.invitations WHERE sent < $1`),
    selectInvitations: prepare<readonly [waiting: boolean, ...Counts]>(
      `SELECT EXISTS (SELECT FROM ${s}.subscriptions WHERE NOT active AND NOT suspended AND channel = $1 AND target = $2), ` +
        'count(*) FILTER (WHERE target = $2), count(*) FILTER (WHERE domain = $3), count(*), ' +
        `(SELECT count(*) FROM ${s}.invitations WHERE account = $4), ` +
        `(SELECT count(*) FROM ${s}.invitations WHERE client = $5) FROM ${s}.invitations WHERE channel = $1`,
    ),
    insertInvitation: prepare(
      `INSERT INTO ${s}.invitations (channel, target, account, client, domain, sent) VALUES ($1, $2, $3, $4, $5, $6)`,
    ),
    withdrawInvitation: prepare(
      `UPDATE ${s}.invitations SET channel = '' WHERE (channel, target, account, sent) = ` +
        `(SELECT channel, target, account, created FROM ${s}.subscriptions WHERE id = $1 AND account = $2)`,
    ),
    confirm: prepareObjects<SubscriptionRow>(
      `UPDATE ${s}.subscriptions w SET active = true, target = coalesce($3, target), ` +
        `token_expires = NULL WHERE token_hash = $1 AND token_expires >= $2 AND coalesce($3, target) <> '' RETURNING ${subscriptionColumns}`,
    ),
    findConfirmed: prepareObjects<SubscriptionRow>(
      `SELECT ${subscriptionColumns} FROM ${s}.subscriptions w WHERE w.token_hash = $1 AND w.active`,
    ),
    list: prepareObjects<SubscriptionRow>(
      `SELECT ${subscriptionColumns} FROM ${s}.subscriptions w WHERE w.account = $1 ORDER BY w.ordinal`,
    ),
    findSame: prepare<readonly [id: string, active: boolean]>(
      `SELECT id, active FROM ${s}.subscriptions WHERE account = $1 AND channel = $2 AND target = $3 AND id <> $4 ` +
        `AND (active OR suspended) AND target <> ''`,
    ),
    setTypes: prepareObjects<SubscriptionRow>(
      `UPDATE ${s}.subscriptions w SET types = $2 WHERE id = $1 RETURNING ${subscriptionColumns}`,
    ),
    remove: prepare(`DELETE FROM ${s}.subscriptions WHERE id = $1 AND account = $2 RETURNING 1`),
  };
}

export function createSubscriptionTable(session: PostgresSession, acquireLock: AcquireLock): SubscriptionStore {
  const { write, read } = session;
  const sql = prepareStatements(session);

  const isUsed = async (run: Query, { account, nonce }: UsedNonce) =>
    (await run(sql.selectNonce, toBytes(account), nonce)).length > 0;

  const markUsed = (run: Query, { account, nonce, expiresAt }: UsedNonce) =>
    run(sql.insertNonce, toBytes(account), nonce, expiresAt);

  async function setTypesOf(run: Query, id: string, types: readonly string[]): Promise<Subscription> {
    const [row] = await run(sql.setTypes, id, types);
    if (row === undefined) throw new Error('a subscription was removed under the lock');
    return readSubscription(row);
  }

  return {
    create: ({ subscription, confirmation, nonce, quota, invitation, now }) =>
      write('store a subscription', async (run) => {
        // The lock of the log prevents new deliveries for a subscription that is being replaced.
        await acquireLock(run, 'log');
        await acquireLock(run, 'subscriptions');
        await run(sql.deleteExpiredPending, now);
        if (await isUsed(run, nonce)) return { status: 'used' };
        const { id, account, channel, target, types, state, secret, createdAt } = subscription;
        const owner = toBytes(account);
        const [[same, isActive] = []] = await run(sql.findSame, owner, channel, target, '');
        if (same !== undefined && isActive === true) {
          await markUsed(run, nonce);
          return { status: 'updated', subscription: await setTypesOf(run, same, types) };
        }
        const [counted] = await run(sql.count, owner);
        if ((counted?.[0] ?? 0) - (same === undefined ? 0 : 1) >= quota) return { status: 'quotaExceeded', quota };
        const by = invitation === undefined ? undefined : await checkInvitation(sql, run, subscription, invitation);
        if (by !== undefined) return { status: 'limited', by };
        await markUsed(run, nonce);
        if (same !== undefined) await run(sql.remove, same, owner);
        if (invitation !== undefined) {
          const { client = null, domain = null } = invitation;
          await run(sql.insertInvitation, channel, target, owner, client, domain, now);
        }
        const token = confirmation === undefined ? null : toBytes(confirmation.tokenHash);
        const expires = confirmation?.expiresAt ?? null;
        const active = state === 'active';
        await run(sql.insert, id, owner, channel, target, types, active, secret, createdAt, token, expires);
        return { status: 'created' };
      }),

    confirm: ({ tokenHash, now, target }) =>
      write('confirm a subscription', async (run) => {
        await acquireLock(run, 'log');
        await acquireLock(run, 'subscriptions');
        const [row] = await run(sql.confirm, toBytes(tokenHash), now, target ?? null);
        if (row === undefined) {
          const [again] = await run(sql.findConfirmed, toBytes(tokenHash));
          return again && readSubscription(again);
        }
        const confirmed = readSubscription(row);
        const { id, channel, target: to, types } = confirmed;
        const owner = toBytes(confirmed.account);
        const [[same, isActive] = []] = await run(sql.findSame, owner, channel, to, id);
        if (same === undefined) return confirmed;
        await run(sql.remove, isActive === true ? id : same, owner);
        return isActive === true ? setTypesOf(run, same, types) : confirmed;
      }),

    list: (account) =>
      read('list subscriptions', async (run) => (await run(sql.list, toBytes(account))).map(readSubscription)),

    remove: ({ id, account, nonce, isUnsent }) =>
      write('remove a subscription', async (run) => {
        // The lock of the log prevents new deliveries for a subscription that is being removed.
        await acquireLock(run, 'log');
        await acquireLock(run, 'subscriptions');
        if (nonce !== undefined) {
          if (await isUsed(run, nonce)) return 'used';
          await markUsed(run, nonce);
        }
        if (isUnsent === true) await run(sql.withdrawInvitation, id, toBytes(account));
        return (await run(sql.remove, id, toBytes(account))).length > 0 ? 'removed' : 'missing';
      }),
  };
}

/** Returns the limit that forbids an invitation, if any. */
async function checkInvitation(
  sql: ReturnType<typeof prepareStatements>,
  run: Query,
  { channel, target, account }: Subscription,
  { since, perTarget, perAccount, perClient, perDomain, perChannel, client, domain }: InvitationLimits,
): Promise<InvitationLimit | undefined> {
  await run(sql.deleteOldInvitations, since);
  const parameters = [channel, target, domain ?? null, toBytes(account), client ?? null];
  const [row] = await run(sql.selectInvitations, ...parameters);
  const [waiting, ofTarget, ofDomain, ofChannel, ofAccount, ofClient] = row ?? [false, 0, 0, 0, 0, 0];
  if (waiting) return 'pending';
  if (ofTarget >= perTarget) return 'target';
  if (ofAccount >= perAccount) return 'account';
  if (ofClient >= perClient) return 'client';
  if (ofDomain >= perDomain) return 'domain';
  return ofChannel >= perChannel ? 'channel' : undefined;
}
