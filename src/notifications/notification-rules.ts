import type { KnownBook } from '../account-tools/account-books.ts';
import type { OrderTokens, TokenLabel } from '../account-tools/token-labels.ts';
import type {
  NewNotification,
  NotificationChange,
  NotificationType,
  ProgressMarker,
} from '../ports/notification-store.ts';
import type { StoredEvent } from '../ports/store.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { getTransactionHash } from '../records/event-log.ts';
import { formatIsoDate } from '../records/order-json.ts';
import type { Order } from '../records/wire-order.ts';
import { createHashedId } from './hashed-ids.ts';
import type { Notification } from './notification.ts';
import { computeImprovement } from './price-improvement.ts';

/** Number of significant digits of an amount. Digits before the point are all shown. */
const SIGNIFICANT = 6;

/**
 * Formats an amount for people: in whole tokens if the decimals are known, otherwise in atoms.
 *
 * @param exact - Whether all digits are shown. Default: false, six significant ones, rounded.
 */
export function formatAmount(atoms: string, address: Address, token: TokenLabel | undefined, exact = false): string {
  const { decimals = -1, symbol = '', isUnverified = false } = token ?? {};
  if (!Number.isSafeInteger(decimals) || decimals < 0 || decimals > 255) return `${atoms} atoms of ${address}`;
  const dropped = exact ? 0 : Math.min(decimals, Math.max(0, atoms.length - SIGNIFICANT));
  const unit = 10n ** BigInt(dropped);
  const amount = formatDecimal({ digits: (BigInt(atoms) + unit / 2n) / unit, scale: decimals - dropped });
  const name = symbol.trim();
  if (!SYMBOL.test(name)) return `${amount} tokens of ${address}`;
  return `${amount} ${name}${isUnverified ? ` (${address})` : ''}`;
}

/**
 * A symbol that a message shows: letters and digits, a letter first. Symbols are untrusted contract data.
 * Others may be links, amounts, or look like the name of another token by letters of other scripts.
 */
const SYMBOL = /^[A-Za-z][A-Za-z0-9]{0,19}$/;

/** Formats both amounts of an exchange: `1.5 WETH for 3000 USDC`. */
export function formatExchange(
  { sellToken, buyToken }: Pick<Order, 'sellToken' | 'buyToken'>,
  amounts: { readonly sellAmount: string; readonly buyAmount: string },
  { sell, buy }: OrderTokens,
): string {
  return `${formatAmount(amounts.sellAmount, sellToken, sell)} for ${formatAmount(amounts.buyAmount, buyToken, buy)}`;
}

/**
 * Formats the amounts of a part of an order. An amount that would be rounded to that of the order has all its digits,
 * because the order would otherwise seem to be complete.
 */
export function formatPart(order: ExchangedOrder, part: ExchangedAmounts, { sell, buy }: OrderTokens): string {
  const format = (atoms: string, whole: string, address: Address, token: TokenLabel | undefined) => {
    const text = formatAmount(atoms, address, token);
    const isRoundedToWhole = atoms !== whole && text === formatAmount(whole, address, token);
    return isRoundedToWhole ? formatAmount(atoms, address, token, true) : text;
  };
  const sold = format(part.sellAmount, order.sellAmount, order.sellToken, sell);
  return `${sold} for ${format(part.buyAmount, order.buyAmount, order.buyToken, buy)}`;
}

type ExchangedOrder = ExchangedAmounts & Pick<Order, 'sellToken' | 'buyToken'>;

interface ExchangedAmounts {
  readonly sellAmount: string;
  readonly buyAmount: string;
}

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

function getLogPosition(event: StoredEvent): { readonly txHash?: string } {
  const txHash = getTransactionHash(event);
  return txHash === undefined ? {} : { txHash };
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

/** Creates a notification of an entry. */
export type NotifyEntry = (
  event: StoredEvent,
  type: NotificationType,
  message: string,
  details: Readonly<Record<string, unknown>>,
  id: string,
) => NotificationChange | undefined;

export interface CorrectionInputs {
  /** The current orders of the entries. A missing order was rolled back, and a later entry reverts it. */
  readonly orders: ReadonlyMap<string, Order>;
  readonly getTokens: (order: Order) => OrderTokens;
  /** The feed's progress markers: numbers of presignatures by UID, and of corrections by their keys. */
  readonly marks: ReadonlyMap<string, string>;
  /** Whether fills and cancellations that were reverted are notified as `order_reverted`. */
  readonly revertedNotifications: boolean;
  /** Whether the entries are read again, and their corrections are known. Default: false. */
  readonly isRepeated?: boolean;
}

interface State {
  /** Number of times that the entry was reverted or restored: odd while it is reverted. */
  readonly count: number;
  readonly before: Counted;
  /** Whether the entry was not on the chain before the batch, and never has been. */
  readonly isNew: boolean;
  readonly last: StoredEvent;
}

/** The marker of an entry. */
interface Counted {
  readonly count: number;
  /** Whether the account knows nothing of the last reversal: its fill was never notified. */
  readonly isSilent: boolean;
}

function parseCounted(text = '0'): Counted {
  return { count: Math.abs(Number(text)), isSilent: text.startsWith('-') };
}

const formatCounted = ({ count, isSilent }: Counted) => `${isSilent ? '-' : ''}${count}`;

const isOdd = (count: number) => count % 2 === 1;

/** Returns the key of the marker that counts the corrections of an entry. The block is not part of it. */
export function getCorrectionKey({ uid, cause }: Pick<StoredEvent, 'uid' | 'cause'>): string {
  return createHashedId(['order_reverted', uid, cause?.position.transactionHash ?? '', cause?.trade?.ordinal ?? 0]);
}

/** Returns whether an entry is a fill or a cancellation on the chain, or its reversal. */
export function isCorrectable({ type, cause }: StoredEvent): boolean {
  const subject = type === 'reverted' ? cause?.reverted : type;
  return cause !== undefined && (subject === 'cancelled' || (subject === 'traded' && cause.trade !== undefined));
}

/**
 * Creates the corrections of a batch of entries. A fill that is added and reverted in one batch needs none, because
 * its notification is not delivered. Each correction withdraws the previous ones of the same entry. Its id has the
 * number of changes so far, which does not depend on how the log is divided into batches.
 */
export function createCorrections(
  { marks, orders, getTokens, revertedNotifications, isRepeated }: CorrectionInputs,
  createChange: NotifyEntry,
) {
  const states = new Map<string, State>();

  function begin(key: string, { type }: StoredEvent): Omit<State, 'last'> {
    const before = parseCounted(marks.get(key));
    return { count: before.count, before, isNew: before.count === 0 && type !== 'reverted' };
  }

  /** Returns the correction of an entry, if its state differs from what the account knows. */
  function correct(key: string, { count, before, isNew, last }: State): NotificationChange | undefined {
    const order = orders.get(last.uid);
    const isKnown = !isNew && (isOdd(count) || !before.isSilent);
    if (order === undefined || !isKnown || isOdd(count) === isOdd(before.count)) return undefined;
    const { text, metadata } = describe(last, order, getTokens(order));
    return createChange(last, 'order_reverted', text, metadata, createHashedId([key, count]));
  }

  return {
    /** Records that an entry adds a fill or a cancellation on the chain, or reverts it. */
    record(event: StoredEvent): void {
      if (!revertedNotifications || isRepeated || !isCorrectable(event)) return;
      const key = getCorrectionKey(event);
      const state = states.get(key) ?? begin(key, event);
      const isChange = isOdd(state.count) !== (event.type === 'reverted');
      states.set(key, { ...state, count: state.count + Number(isChange), last: event });
    },
    /** Returns the corrections of what earlier batches have notified, and the new markers. */
    finish() {
      const changes: NotificationChange[] = [];
      const changed: ProgressMarker[] = [];
      for (const [key, state] of states) {
        const { count, before } = state;
        if (count === before.count) continue;
        const correction = correct(key, state);
        const isReverted = isOdd(count);
        const stays = isReverted === isOdd(before.count);
        const isSilent = isReverted && (stays && !state.isNew ? before.isSilent : !correction);
        changed.push({ key, value: formatCounted({ count, isSilent }) });
        if (correction === undefined) continue;
        for (let earlier = 1; earlier < count; earlier++)
          changes.push({ type: 'withdraw', id: createHashedId([key, earlier]) });
        changes.push(correction);
      }
      return { changes, marks: changed };
    },
  };
}

function describe(event: StoredEvent, order: Order, tokens: OrderTokens) {
  const restored = event.type !== 'reverted';
  const position = getLogPosition(event);
  const trade = event.cause?.trade;
  if (trade === undefined) {
    const subject = `cancellation of your order to exchange ${formatExchange(order, order, tokens)}`;
    const reverted = `A reorganisation of the chain reverted the ${subject}`;
    const text = restored ? `The ${subject} was reverted, and is on the chain again` : reverted;
    // Another book has reported the change without a transaction, so it may not be one of the chain.
    const unplaced = `The ${subject} was reverted${restored ? ', and is valid again' : ''}`;
    return { text: position.txHash === undefined ? unplaced : text, metadata: { ...position, restored } };
  }
  const exchange = formatPart(order, trade, tokens);
  const text = restored
    ? `A fill of your order was reverted, and is on the chain again: ${exchange}`
    : `A reorganisation of the chain reverted a fill of your order: ${exchange}`;
  const { sellAmount: executedSellAmount, buyAmount: executedBuyAmount } = trade;
  return { text, metadata: { executedSellAmount, executedBuyAmount, ...position, restored } };
}
