import type {
  BlockRef,
  ChainEvent,
  ChainEventPruneOutcome,
  ChainEventPruneRequest,
  Hex,
  OrderChainEvent,
  SettlementChainEvent,
  TradeChainEvent,
  TradeQuery,
} from 'intentbook';
import { UNKNOWN_HASH } from 'intentbook';
import {
  type ChainTables,
  compareLogPositions,
  createChainOperations,
  firstTradeBlocks,
  isOrderChainEvent,
  unpackUid,
} from 'intentbook/store-kit';
import { getOrCreate } from './get-or-create.ts';
import { SortedList } from './sorted-list.ts';

/** Chain events in memory. All methods are synchronous, so each is one atomic step. */
export type MemoryChain = ReturnType<typeof createMemoryChain>;

/** Creates chain events without entries. */
export function createMemoryChain(orders: ChainTables['orders']) {
  const chainEvents = new SortedList<ChainEvent>(compareLogPositions);
  const byUid = new Map<string, SortedList<OrderChainEvent>>();
  const hashes = new Map<number, Hex>();
  const firstTrades = new Map<string, number>();
  let checkpoint: ReturnType<ChainTables['blocks']['checkpoint']>;

  /** Returns the chain events of an order by log position. */
  const listEventsOfOrder = (uid: string): OrderChainEvent[] => [...(byUid.get(uid)?.from(0) ?? [])];

  /** Returns the stored events after a block, up to another one. */
  function listBetween(after: number, through: number): ChainEvent[] {
    const [start = 0, end] = [after, through].map((block) =>
      chainEvents.firstWhere((event) => event.blockNumber > block),
    );
    return chainEvents.slice(start, end ?? 0);
  }

  const listBlocks = (): BlockRef[] =>
    [...hashes].map(([number, hash]) => ({ number, hash })).sort((a, b) => b.number - a.number);

  function remove(event: ChainEvent): void {
    chainEvents.remove(event);
    if (!isOrderChainEvent(event)) return;
    const list = byUid.get(event.uid);
    list?.remove(event);
    if (list?.length === 0) byUid.delete(event.uid);
  }

  /** Returns whether the order has ended. A placement is needed until the other events of its order are deleted. */
  function hasOrderEnded({ uid, type }: OrderChainEvent, before: number): boolean {
    if (unpackUid(uid).validTo < before) return true;
    const events = listEventsOfOrder(uid);
    const isEndedPlacement = (event: OrderChainEvent) =>
      event.type === 'placement' && event.userValidTo !== null && event.userValidTo < before;
    return events.some(isEndedPlacement) && (type !== 'placement' || events.every((each) => each.type === type));
  }

  /** Returns whether an event is not needed any more. A settlement follows its trades in the log. */
  function isOld(event: ChainEvent, before: number, trades: ReadonlyMap<Hex, number>): boolean {
    if (isOrderChainEvent(event)) {
      return orders.find(event.uid) === undefined && hasOrderEnded(event, before);
    }
    return event.timestamp !== null && (trades.get(event.transactionHash) ?? 0) === 0;
  }

  function countTrades(): Map<Hex, number> {
    const counts = new Map<Hex, number>();
    for (const { type, transactionHash } of chainEvents.from(0))
      if (type === 'trade') counts.set(transactionHash, (counts.get(transactionHash) ?? 0) + 1);
    return counts;
  }

  function prune({ before, after, limit }: ChainEventPruneRequest): ChainEventPruneOutcome {
    const end = hashes.size > 0 ? Math.min(...hashes.keys()) : checkpoint?.hash == null ? 0 : checkpoint.number;
    const isAfter = (event: ChainEvent) => after === undefined || compareLogPositions(event, after) > 0;
    const examined = [...chainEvents.from(chainEvents.firstWhere(isAfter))]
      .slice(0, limit)
      .filter(({ blockNumber }) => blockNumber < end);
    const young = examined.findIndex(({ timestamp }) => timestamp !== null && timestamp >= before);
    const trades = countTrades();
    let removed = 0;
    for (const event of young < 0 ? examined : examined.slice(0, young)) {
      if (!isOld(event, before, trades)) continue;
      remove(event);
      if (event.type === 'trade') trades.set(event.transactionHash, (trades.get(event.transactionHash) ?? 0) - 1);
      removed++;
    }
    const last = examined.at(-1);
    if (young >= 0 || examined.length < limit || last === undefined) return { removed };
    return { removed, next: { blockNumber: last.blockNumber, logIndex: last.logIndex } };
  }

  function add(event: ChainEvent): void {
    chainEvents.add(event);
    if (!isOrderChainEvent(event)) return;
    getOrCreate(byUid, event.uid, () => new SortedList<OrderChainEvent>(compareLogPositions)).add(event);
  }

  const operations = createChainOperations({
    events: {
      add,
      remove,
      listByOrder: listEventsOfOrder,
      listOfBlock: (block) => listBetween(block - 1, block),
      listAdopted: ({ after, through }) =>
        listBetween(after, through).filter(({ blockHash }) => blockHash === UNKNOWN_HASH),
      listAbove: (block) => listBetween(block, Number.POSITIVE_INFINITY),
      blockHash: (block) =>
        listBetween(block - 1, block).find(({ blockHash }) => blockHash !== UNKNOWN_HASH)?.blockHash,
      newestBlock: () => chainEvents.slice(chainEvents.length - 1, chainEvents.length)[0]?.blockNumber ?? -1,
      lastLog: (block) => listBetween(block - 1, block).at(-1)?.logIndex ?? -1,
    },
    blocks: {
      checkpoint: () => checkpoint,
      setCheckpoint(number, hash) {
        checkpoint = { number, hash };
      },
      list: listBlocks,
      newest: () => listBlocks()[0] ?? null,
      getHash: (block) => hashes.get(block),
      record(added, forgetBelow) {
        for (const [number, hash] of added) hashes.set(number, hash);
        for (const number of hashes.keys()) if (number < forgetBelow) hashes.delete(number);
      },
      removeAbove(block) {
        for (const number of hashes.keys()) if (number > block) hashes.delete(number);
      },
    },
    firstTrades: {
      record(events) {
        for (const [token, first] of firstTradeBlocks(events))
          firstTrades.set(token, Math.min(first, firstTrades.get(token) ?? first));
      },
      removeAbove(block) {
        for (const [token, first] of firstTrades) if (first > block) firstTrades.delete(token);
      },
    },
    orders,
  });

  return {
    ...operations,
    prune,

    trades({ filter, after, offset = 0, limit }: TradeQuery): TradeChainEvent[] {
      let isMatch: (event: TradeChainEvent) => boolean;
      if ('uid' in filter) isMatch = ({ uid }) => uid === filter.uid;
      else if ('transactionHash' in filter) isMatch = (event) => event.transactionHash === filter.transactionHash;
      else {
        const { account } = filter;
        const isPlaced = (event: OrderChainEvent) => event.type === 'placement' && event.sender === account;
        isMatch = ({ uid, owner }) => owner === account || listEventsOfOrder(uid).some(isPlaced);
      }
      const source = 'uid' in filter ? listEventsOfOrder(filter.uid) : [...chainEvents.from(0)];
      return source
        .filter((event): event is TradeChainEvent => event.type === 'trade' && isMatch(event))
        .filter((event) => after === undefined || compareLogPositions(event, after) < 0)
        .reverse()
        .slice(offset, offset + limit);
    },

    listEventsOfOrder,

    firstTrade: (token: string): number | undefined => firstTrades.get(token),

    settlements: (transactionHash: Hex): SettlementChainEvent[] =>
      [...chainEvents.from(0)].filter(
        (event): event is SettlementChainEvent =>
          event.type === 'settlement' && event.transactionHash === transactionHash,
      ),

    settlementsOfAuction: (auctionId: number): SettlementChainEvent[] =>
      [...chainEvents.from(0)].filter(
        (event): event is SettlementChainEvent => event.type === 'settlement' && event.auctionId === auctionId,
      ),
  };
}
