import type { NewOrder } from '../ports/order-record.ts';
import type { ProtocolEvent } from '../protocol/event-decoder.ts';
import { bytesToHex, type Hex } from '../protocol/hex.ts';
import { decodeSettledOrder } from '../protocol/settled-order.ts';
import { unpackUid } from '../protocol/uid.ts';
import { toNewOrder } from '../records/order-json.ts';
import type { AttributedEvent, Attribution, Settled } from './attribution.ts';
import type { BatchContext } from './batch-context.ts';

type JustInTimeRules = Pick<
  BatchContext,
  'justInTimeOrders' | 'hasher' | 'settlementContract' | 'now' | 'findKnown'
> & { readonly attributions: ReadonlyMap<ProtocolEvent, Attribution> };

/**
 * Reads the orders that settlements have traded and the book does not have, from the calldata. The digest of each is
 * compared with the UID of the trade, so calldata cannot invent an order.
 *
 * @param placed - UIDs of orders that the same batch places on chain.
 * @returns The orders by trade.
 */
export async function readJustInTimeOrders(
  settlements: readonly Settled[],
  placed: ReadonlySet<Hex>,
  context: JustInTimeRules,
): Promise<ReadonlyMap<ProtocolEvent, NewOrder>> {
  const found = new Map<ProtocolEvent, NewOrder>();
  if (context.justInTimeOrders === 'off') return found;
  const uids = new Set(settlements.flatMap(({ trades }) => trades.map(({ orderUid }) => orderUid)));
  if (uids.size === 0) return found;
  const known = new Set([...(await context.findKnown([...uids])), ...placed]);
  for (const settlement of settlements) {
    if (!isOwn(settlement, known, context)) continue;
    for (const [i, trade] of settlement.trades.entries()) {
      const order = known.has(trade.orderUid) ? undefined : readOrder(settlement.input, i, trade, context);
      if (order !== undefined) found.set(trade, order);
    }
  }
  return found;
}

/** An order may be in several books on one contract. So a settlement that names an auction belongs to its book only. */
function isOwn({ trades, settlement }: Settled, known: ReadonlySet<Hex>, context: JustInTimeRules): boolean {
  if (context.justInTimeOrders === 'all') return true;
  const { auction, auctionId = null } = context.attributions.get(settlement) ?? {};
  return auctionId === null ? trades.some(({ orderUid }) => known.has(orderUid)) : auction !== undefined;
}

function readOrder(
  input: Hex,
  index: number,
  trade: AttributedEvent,
  { hasher, settlementContract, now }: JustInTimeRules,
): NewOrder | undefined {
  const settled = decodeSettledOrder(input, index);
  const uid = trade.orderUid;
  const { digest, owner } = unpackUid(uid);
  if (settled === undefined || bytesToHex(hasher.digest(settled.data)) !== digest) return undefined;
  const { data, signingScheme, signature } = settled;
  const creationDate = trade.timestamp == null ? now : trade.timestamp * 1000;
  return toNewOrder({
    uid,
    owner,
    data,
    signingScheme,
    signature,
    creationDate,
    settlementContract,
    interactions: { pre: [], post: [] },
    validFrom: undefined,
    class: 'liquidity',
  });
}
