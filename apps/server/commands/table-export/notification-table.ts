import type { AccountStore } from 'intentbook';
import type { Notification } from 'intentbook/accounts';
import { defineColumns, type Row, type Table } from './columns.ts';
import { assertCursor, readLog } from './log.ts';

/** Documented members of the metadata. */
type Metadata = { readonly chainId?: number; readonly env?: string; readonly orderUid?: string };

const { columns, toRow } = defineColumns<[logId: number, event: string, notification: Notification]>({
  log_id: ['integer', (logId) => logId],
  event: ['text', (_, event) => event],
  id: ['text', (_id, _event, notification) => notification.id],
  account: ['text', (_id, _event, notification) => notification.account],
  type: ['text', (_id, _event, notification) => notification.type],
  time: ['time', (_id, _event, notification) => Date.parse(notification.timestamp)],
  chain_id: ['integer', (_id, _event, { metadata }) => (metadata as Metadata).chainId ?? null],
  env: ['text', (_id, _event, { metadata }) => (metadata as Metadata).env ?? null],
  order_uid: ['text', (_id, _event, { metadata }) => (metadata as Metadata).orderUid ?? null],
  message: ['text', (_id, _event, notification) => notification.message],
  metadata: ['text', (_id, _event, notification) => JSON.stringify(notification.metadata)],
});

/**
 * Creates the table of notifications of all accounts: the entries `notification` and `withdrawn` of the account log.
 *
 * @param after - Position in the account log. Default: from the first entry on.
 */
export async function exportNotifications({ notifications, retention }: AccountStore, after = 0): Promise<Table> {
  const cursor = await notifications.last();
  if (after > 0) await assertCursor({ retention }, notifications.after, after, cursor);

  async function* read(): AsyncGenerator<readonly Row[]> {
    for await (const entries of readLog(notifications.after, after, cursor)) {
      yield entries.map(({ id, type, body }) => toRow(id, type, JSON.parse(body) as Notification)); // as stored
    }
  }

  return { columns, batches: read(), cursor, total: cursor - after };
}
