import { keccak256Text } from '../crypto/keccak.ts';
import type { Order } from '../orders/order-json.ts';
import { formatIsoDate } from '../orders/order-json.ts';
import type { NewNotification, NotificationChange, NotificationType, ProgressMarker } from '../ports/account-store.ts';
import type { StoredEvent } from '../ports/store.ts';
import { bytesToHex } from '../protocol/hex.ts';
import type { KnownBook } from './account-books.ts';
import type { Notification } from './notification-list.ts';
import type { OrderTokens } from './notification-messages.ts';
import { amountText, exchangeText } from './notification-messages.ts';
import { computeImprovement } from './price-improvement.ts';

/** What a stretch of a book's log is read with. */
export interface NotificationRulesContext {
  readonly book: KnownBook;
  /** The orders that the entries are about, as they are now. One that is gone was rolled back, as a later entry says. */
  readonly orders: ReadonlyMap<string, Order>;
  readonly tokensOf: (order: Order) => OrderTokens;
  /** How often orders were signed on chain, by UID: the feed's marks. */
  readonly marks: ReadonlyMap<string, string>;
}

export interface DerivedNotifications {
  readonly changes: NotificationChange[];
  readonly marks: ProgressMarker[];
}

/**
 * Says what entries of a book's log mean to the accounts behind their orders (decision 5.1). The same entry always
 * means the same notification; what is taken back means that it is withdrawn.
 */
export function deriveNotifications(
  events: readonly StoredEvent[],
  around: NotificationRulesContext,
): DerivedNotifications {
  const { book, orders } = around;
  const changes: NotificationChange[] = [];
  const signed = new Map<string, number>();
  const timesSigned = (uid: string) => signed.get(uid) ?? Number(around.marks.get(uid) ?? 0);

  for (const event of events) {
    const order = orders.get(event.uid);
    const notify = (type: NotificationType, message: string, more: Readonly<Record<string, unknown>> = {}) => {
      if (order === undefined) return;
      const id = notificationId(type, event);
      const metadata = { orderUid: event.uid, chainId: book.book.chainId, env: book.env, ...more };
      changes.push({ type: 'notify', notification: createNotification(id, type, event.at, order, message, metadata) });
    };

    switch (event.type) {
      case 'traded':
        notifyTrade(event, order, around, notify);
        break;
      case 'cancelled':
        // What was never signed on chain was never an order to anybody.
        if (order?.signingScheme === 'presign' && timesSigned(event.uid) === 0) break;
        if (order !== undefined) {
          const what = exchangeText(order, order, around.tokensOf(order));
          const { txHash } = getLogPosition(event);
          notify(
            'order_cancelled',
            `Your order to exchange ${what} was cancelled`,
            txHash === undefined ? {} : { txHash },
          );
        }
        break;
      case 'expired':
        if (order !== undefined) {
          const what = exchangeText(order, order, around.tokensOf(order));
          notify('order_expired', `Your order to exchange ${what} has expired`);
        }
        break;
      case 'reinstated':
        changes.push({ type: 'withdraw', id: notificationId('order_expired', event) });
        break;
      case 'presigned':
        signed.set(event.uid, timesSigned(event.uid) + 1);
        break;
      case 'reverted':
        if (event.cause?.reverted === 'presigned') signed.set(event.uid, Math.max(0, timesSigned(event.uid) - 1));
        for (const type of typesOf(event)) changes.push({ type: 'withdraw', id: notificationId(type, event) });
        break;
      case 'created':
      case 'placed':
      case 'presignatureRevoked':
      case 'refunded':
        break;
    }
  }
  const marks = [...signed].map(([key, times]) => ({ key, value: times === 0 ? null : String(times) }));
  return { changes, marks };
}

type Notify = (type: NotificationType, message: string, more?: Readonly<Record<string, unknown>>) => void;

function notifyTrade(
  event: StoredEvent,
  order: Order | undefined,
  { tokensOf }: NotificationRulesContext,
  notify: Notify,
): void {
  const trade = event.cause?.trade;
  if (order === undefined || trade === undefined) return;
  const tokens = tokensOf(order);
  const { sellAmount, buyAmount } = trade;
  const what = exchangeText(order, trade, tokens);
  const executed = { executedSellAmount: sellAmount, executedBuyAmount: buyAmount, ...getLogPosition(event) };
  if (trade.completes) notify('order_filled', `Your order was filled: ${what}`, executed);
  else notify('order_partially_filled', `Your order was filled in part: ${what}`, executed);

  const improvement = order.quote && computeImprovement(order.quote, trade);
  if (improvement === undefined) return;
  const more = amountText(improvement.surplus, order.buyToken, tokens.buy);
  notify('price_improvement', `You received ${more} more than you were quoted: ${what}`, {
    ...executed,
    quotedBuyAmount: improvement.quotedBuyAmount,
    surplusAmount: improvement.surplus,
  });
}

/** Which notifications an entry that is taken back may have made. */
function typesOf({ cause }: StoredEvent): readonly NotificationType[] {
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
 * Names a notification by its cause: its type, the order, the transaction and which of the order's trades in it. Not by
 * the block, so that a transaction that moves to another one means the same notification.
 */
export function notificationId(type: NotificationType, { uid, cause }: Pick<StoredEvent, 'uid' | 'cause'>): string {
  // An expiry has a transaction neither when it is told nor when it is taken back.
  const where = type === 'order_expired' ? undefined : cause;
  return hashedId([type, uid, where?.position.transactionHash ?? '', where?.trade?.ordinal ?? 0]);
}

/** 128 bits of a hash, as 32 hex digits. */
export function hashedId(parts: readonly (string | number)[]): string {
  return bytesToHex(keccak256Text(parts.join(' '))).slice(2, 34);
}

function getLogPosition({ cause }: StoredEvent): { readonly txHash?: string } {
  return cause === undefined ? {} : { txHash: cause.position.transactionHash };
}

/** Renders a notification for the account behind an order: its actual user, where that is not its owner. */
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
