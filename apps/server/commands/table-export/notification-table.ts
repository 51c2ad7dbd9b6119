import type { AccountStore } from 'intentbook';
import type { Notification } from 'intentbook/accounts';
import type { Column, Row, Table } from './columns.ts';
import { assertCursor } from './log.ts';

const COLUMNS: readonly Column[] = [
  { name: 'log_id', type: 'integer' },
  { name: 'event', type: 'text' },
  { name: 'id', type: 'text' },
  { name: 'account', type: 'text' },
  { name: 'type', type: 'text' },
  { name: 'time', type: 'time' },
  { name: 'chain_id', type: 'integer' },
  { name: 'env', type: 'text' },
  { name: 'order_uid', type: 'text' },
  { name: 'message', type: 'text' },
  { name: 'metadata', type: 'text' },
];

/** Entries of the account log per step. */
const BATCH = 500;

/**
 * Creates the table of notifications of all accounts: the entries `notification` and `withdrawn` of the account log.
 *
 * @param after - Position in the account log. Default: from the first entry on.
 */
export async function exportNotifications({ notifications, retention }: AccountStore, after = 0): Promise<Table> {
  const cursor = await notifications.last();
  if (after > 0) await assertCursor({ retention }, notifications.after, after, cursor);

  async function* read(): AsyncGenerator<readonly Row[]> {
    for (let last = after; last < cursor; ) {
      const entries = (await notifications.after(last, BATCH)).filter(({ id }) => id <= cursor);
      const end = entries.at(-1);
      if (end === undefined) return;
      yield entries.map(({ id, type, body }) => toRow(id, type, JSON.parse(body) as Notification)); // as stored
      last = end.id;
    }
  }

  return { columns: COLUMNS, batches: read(), cursor, total: cursor - after };
}

function toRow(logId: number, event: string, { id, account, type, timestamp, message, metadata }: Notification): Row {
  const { chainId, env, orderUid } = metadata as { chainId?: number; env?: string; orderUid?: string }; // documented
  return [
    logId,
    event,
    id,
    account,
    type,
    Date.parse(timestamp),
    chainId ?? null,
    env ?? null,
    orderUid ?? null,
    message,
    JSON.stringify(metadata),
  ];
}
