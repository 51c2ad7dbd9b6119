import type { KnownBook } from '../account-tools/account-books.ts';
import type { OrderTokens } from '../account-tools/token-labels.ts';
import type {
  NewNotification,
  NotificationChange,
  NotificationType,
  ProgressMarker,
} from '../ports/notification-store.ts';
import type { StoredEvent } from '../ports/store.ts';
import type { Hex } from '../protocol/hex.ts';
import type { Order } from '../records/order-json.ts';
import { formatIsoDate } from '../records/order-json.ts';
import type { CorrectionInputs, NotifyEntry } from './corrections.ts';
import { createCorrections } from './corrections.ts';
import { createHashedId } from './hashed-ids.ts';
import type { Notification } from './notification.ts';
import { formatAmount, formatExchange, formatPart } from './notification-messages.ts';
import { computeImprovement } from './price-improvement.ts';

/** The inputs for a range of log entries. */
export interface NotificationInputs extends CorrectionInputs {
  readonly book: KnownBook;
}

export interface DerivedNotifications {
  readonly changes: NotificationChange[];
  readonly marks: ProgressMarker[];
}

/**
 * Derives notifications from log entries of a book, for the accounts of their orders. The same entry always yields the
 * same notification; a reverted entry withdraws it. See docs/internals/decisions.md#d5-1.
 */
export function deriveNotifications(events: readonly StoredEvent[], context: NotificationInputs): DerivedNotifications {
  const { book, orders } = context;
  const changes: NotificationChange[] = [];
  const presignatures = new Map<string, number>();
  const getPresignatureCount = (uid: string) => presignatures.get(uid) ?? Number(context.marks.get(uid) ?? 0);

  const createChange: NotifyEntry = (event, type, message, details, id) => {
    const order = orders.get(event.uid);
    if (order === undefined) return undefined;
    const metadata = { orderUid: event.uid, chainId: book.book.chainId, env: book.env, ...details };
    return { type: 'notify', notification: createNotification(id, type, event.at, order, message, metadata) };
  };
  const corrections = createCorrections(context, createChange);
  /** Returns whether the cancellation of an order is silent: without a presignature it was never active. */
  const isSilent = (uid: Hex) => orders.get(uid)?.signingScheme === 'presign' && getPresignatureCount(uid) === 0;

  for (const event of events) {
    const order = orders.get(event.uid);
    const notify: Notify = (type, message, details = {}) => {
      const change = createChange(event, type, message, details, getNotificationId(type, event));
      if (change !== undefined) changes.push(change);
    };
    if (!isSilent(event.uid) || event.cause?.trade !== undefined) corrections.record(event);

    switch (event.type) {
      case 'traded':
        notifyTrade(event, order, context, notify);
        break;
      case 'cancelled':
        if (isSilent(event.uid)) break;
        if (order !== undefined) {
          const { text, metadata } = describeEnd(order, context.getTokens(order), 'was cancelled');
          notify('order_cancelled', text, { ...metadata, ...getLogPosition(event) });
        }
        break;
      case 'expired':
        if (order !== undefined) {
          const { text, metadata } = describeEnd(order, context.getTokens(order), 'has expired');
          notify('order_expired', text, metadata);
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
  const corrected = corrections.finish();
  return { changes: [...changes, ...corrected.changes], marks: [...marks, ...corrected.marks] };
}

type Notify = (type: NotificationType, message: string, details?: Readonly<Record<string, unknown>>) => void;

function notifyTrade(
  event: StoredEvent,
  order: Order | undefined,
  { getTokens }: NotificationInputs,
  notify: Notify,
): void {
  const trade = event.cause?.trade;
  if (order === undefined || trade === undefined) return;
  const tokens = getTokens(order);
  const { sellAmount, buyAmount } = trade;
  const exchange = formatExchange(order, trade, tokens);
  const executed = { executedSellAmount: sellAmount, executedBuyAmount: buyAmount, ...getLogPosition(event) };
  if (trade.completes) {
    const total = getTotal(order, trade);
    const metadata = { ...executed, totalSellAmount: total.sellAmount, totalBuyAmount: total.buyAmount };
    notify('order_filled', `Your order was filled: ${formatExchange(order, total, tokens)}`, metadata);
  } else
    notify('order_partially_filled', `Your order was filled in part: ${formatPart(order, trade, tokens)}`, executed);

  const improvement = order.quote && computeImprovement(order, order.quote, trade);
  if (improvement === undefined) return;
  const { reference, expected, surplus } = improvement;
  const than = reference === 'quote' ? 'you were quoted' : 'your limit';
  const isSale = order.kind === 'sell';
  const surplusToken = isSale ? order.buyToken : order.sellToken;
  const amount = formatAmount(surplus, surplusToken, isSale ? tokens.buy : tokens.sell);
  const difference = isSale ? `You received ${amount} more than` : `You paid ${amount} less than`;
  notify('price_improvement', `${difference} ${than}: ${exchange}`, {
    ...executed,
    [`${reference === 'quote' ? 'quoted' : 'limit'}${isSale ? 'Buy' : 'Sell'}Amount`]: expected,
    surplusAmount: surplus,
    surplusToken,
  });
}

/** Describes the end of an order that was not filled completely, with the amounts of its fills, if any. */
function describeEnd(order: Order, tokens: OrderTokens, end: string) {
  const text = `Your order to exchange ${formatExchange(order, order, tokens)} ${end}`;
  const { executedSellAmount, executedBuyAmount } = order;
  if (BigInt(executedSellAmount) === 0n && BigInt(executedBuyAmount) === 0n) return { text, metadata: {} };
  const exchange = formatPart(order, { sellAmount: executedSellAmount, buyAmount: executedBuyAmount }, tokens);
  return { text: `${text}. It was filled in part: ${exchange}`, metadata: { executedSellAmount, executedBuyAmount } };
}

/** Returns the amounts of all trades of a filled order. A rollback that is read later may have reduced them. */
function getTotal({ executedSellAmount, executedBuyAmount }: Order, trade: Amounts): Amounts {
  const isComplete =
    BigInt(executedSellAmount) >= BigInt(trade.sellAmount) && BigInt(executedBuyAmount) >= BigInt(trade.buyAmount);
  return isComplete ? { sellAmount: executedSellAmount, buyAmount: executedBuyAmount } : trade;
}

interface Amounts {
  readonly sellAmount: string;
  readonly buyAmount: string;
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
