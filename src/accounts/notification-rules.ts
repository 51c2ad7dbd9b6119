import { keccak256Text } from '../crypto/keccak.ts';
import type { Order } from '../orders/order-json.ts';
import { formatIsoDate } from '../orders/order-json.ts';
import type {
  NewNotification,
  NotificationChange,
  NotificationType,
  ProgressMarker,
} from '../ports/notification-store.ts';
import type { StoredEvent } from '../ports/store.ts';
import { bytesToHex } from '../protocol/hex.ts';
import type { KnownBook } from './account-books.ts';
import type { Notification } from './notification.ts';
import type { OrderTokens } from './notification-messages.ts';
import { formatAmount, formatExchange } from './notification-messages.ts';
import { computeImprovement } from './price-improvement.ts';

/** The inputs for a range of log entries. */
export interface NotificationRulesContext {
  readonly book: KnownBook;
  /** The current orders of the entries. A missing order was rolled back, and a later entry reverts it. */
  readonly orders: ReadonlyMap<string, Order>;
  readonly getTokens: (order: Order) => OrderTokens;
  /** Number of presignatures by UID, from the feed's progress markers. */
  readonly marks: ReadonlyMap<string, string>;
}

export interface DerivedNotifications {
  readonly changes: NotificationChange[];
  readonly marks: ProgressMarker[];
}

/**
 * Derives notifications from log entries of a book, for the accounts of their orders. The same entry always yields the
 * same notification; a reverted entry withdraws it. See docs/internals/decisions.md#d5-1.
 */
export function deriveNotifications(
  events: readonly StoredEvent[],
  context: NotificationRulesContext,
): DerivedNotifications {
  const { book, orders } = context;
  const changes: NotificationChange[] = [];
  const presignatures = new Map<string, number>();
  const getPresignatureCount = (uid: string) => presignatures.get(uid) ?? Number(context.marks.get(uid) ?? 0);

  for (const event of events) {
    const order = orders.get(event.uid);
    const notify = (type: NotificationType, message: string, details: Readonly<Record<string, unknown>> = {}) => {
      if (order === undefined) return;
      const id = getNotificationId(type, event);
      const metadata = { orderUid: event.uid, chainId: book.book.chainId, env: book.env, ...details };
      changes.push({ type: 'notify', notification: createNotification(id, type, event.at, order, message, metadata) });
    };

    switch (event.type) {
      case 'traded':
        notifyTrade(event, order, context, notify);
        break;
      case 'cancelled':
        // A presign order without a presignature was never active, so its cancellation is not reported.
        if (order?.signingScheme === 'presign' && getPresignatureCount(event.uid) === 0) break;
        if (order !== undefined) {
          const exchange = formatExchange(order, order, context.getTokens(order));
          const { txHash } = getLogPosition(event);
          notify(
            'order_cancelled',
            `Your order to exchange ${exchange} was cancelled`,
            txHash === undefined ? {} : { txHash },
          );
        }
        break;
      case 'expired':
        if (order !== undefined) {
          const exchange = formatExchange(order, order, context.getTokens(order));
          notify('order_expired', `Your order to exchange ${exchange} has expired`);
        }
        break;
      case 'reinstated':
        changes.push({ type: 'withdraw', id: getNotificationId('order_expired', event) });
        break;
      case 'presigned':
        presignatures.set(event.uid, getPresignatureCount(event.uid) + 1);
        break;
      case 'reverted':
        if (event.cause?.reverted === 'presigned')
          presignatures.set(event.uid, Math.max(0, getPresignatureCount(event.uid) - 1));
        for (const type of getRevertedTypes(event))
          changes.push({ type: 'withdraw', id: getNotificationId(type, event) });
        break;
      case 'created':
      case 'placed':
      case 'presignatureRevoked':
      case 'refunded':
        break;
    }
  }
  const marks = [...presignatures].map(([key, count]) => ({ key, value: count === 0 ? null : String(count) }));
  return { changes, marks };
}

type Notify = (type: NotificationType, message: string, details?: Readonly<Record<string, unknown>>) => void;

function notifyTrade(
  event: StoredEvent,
  order: Order | undefined,
  { getTokens }: NotificationRulesContext,
  notify: Notify,
): void {
  const trade = event.cause?.trade;
  if (order === undefined || trade === undefined) return;
  const tokens = getTokens(order);
  const { sellAmount, buyAmount } = trade;
  const exchange = formatExchange(order, trade, tokens);
  const executed = { executedSellAmount: sellAmount, executedBuyAmount: buyAmount, ...getLogPosition(event) };
  if (trade.completes) notify('order_filled', `Your order was filled: ${exchange}`, executed);
  else notify('order_partially_filled', `Your order was filled in part: ${exchange}`, executed);

  const improvement = order.quote && computeImprovement(order.kind, order.quote, trade);
  if (improvement === undefined) return;
  const surplusText = formatAmount(improvement.surplus, order.buyToken, tokens.buy);
  notify('price_improvement', `You received ${surplusText} more than you were quoted: ${exchange}`, {
    ...executed,
    quotedBuyAmount: improvement.quotedBuyAmount,
    surplusAmount: improvement.surplus,
  });
}

/** Returns the types of notifications that a reverted entry may have produced. */
function getRevertedTypes({ cause }: StoredEvent): readonly NotificationType[] {
  switch (cause?.reverted) {
    case 'traded':
      return [cause.trade?.completes ? 'order_filled' : 'order_partially_filled', 'price_improvement'];
    case 'cancelled':
      return ['order_cancelled'];
    default:
      return [];
  }
}

/**
 * Derives the id of a notification from its cause: its type, the order, the transaction and the ordinal of the trade.
 * The block is not part of it, so a transaction that moves to another block yields the same notification.
 */
export function getNotificationId(type: NotificationType, { uid, cause }: Pick<StoredEvent, 'uid' | 'cause'>): string {
  // The entries that record and revert an expiry have no common transaction.
  const where = type === 'order_expired' ? undefined : cause;
  return createHashedId([type, uid, where?.position.transactionHash ?? '', where?.trade?.ordinal ?? 0]);
}

/** Returns 128 bits of a hash as 32 hex digits. */
export function createHashedId(parts: readonly (string | number)[]): string {
  return bytesToHex(keccak256Text(parts.join(' '))).slice(2, 34);
}

function getLogPosition({ cause }: StoredEvent): { readonly txHash?: string } {
  return cause === undefined ? {} : { txHash: cause.position.transactionHash };
}

/** Creates a notification for the account of an order: the trader, if it is not the owner. */
export function createNotification(
  id: string,
  type: NotificationType,
  at: number,
  order: Pick<Order, 'owner' | 'onchainUser'>,
  message: string,
  metadata: Notification['metadata'],
): NewNotification {
  const account = order.onchainUser ?? order.owner;
  const body: Notification = { id, account, type, message, timestamp: formatIsoDate(at), metadata };
  return { id, account, type, at, body: JSON.stringify(body) };
}
