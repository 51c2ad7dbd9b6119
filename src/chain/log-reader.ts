import type { ChainCall } from '../ports/chain-client.ts';
import type { BlockHeader, ChainSource, LogQuery } from '../ports/chain-source.ts';
import { mayContain } from '../protocol/bloom.ts';
import type { Domain } from '../protocol/eip712.ts';
import type { ChainLog, ProtocolEvent } from '../protocol/event-decoder.ts';
import { decodeLog, EVENT_TOPICS } from '../protocol/event-decoder.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { ChainBatch } from './decode-batch.ts';
import type { IndexerObservation } from './indexer-options.ts';

/** A node has contradicted itself, or what it had said a moment before. It is asked again. */
export class Inconsistent extends Error {
  override readonly name = 'Inconsistent';
}

export interface LogReaderContext {
  readonly domain: Domain;
  /** Asks a node, with a deadline. */
  readonly run: <T>(question: (call: ChainCall) => Promise<T>) => Promise<T>;
  readonly observe: (observation: IndexerObservation) => void;
  readonly isStopping: () => boolean;
}

/** Reads from a node what concerns orders, and does not believe what contradicts itself. */
export interface LogReader {
  /** The logs of blocks, both ends included. Rejects with `Inconsistent` when there are others among them. */
  logsBetween(node: ChainSource, from: number, to: number): Promise<readonly ChainLog[]>;
  /** The logs of one block, by its hash. Rejects with `Inconsistent` when there are others among them. */
  logsOf(node: ChainSource, block: BlockHeader): Promise<readonly ChainLog[]>;
  /**
   * What logs say, with the calls of the settlements among them.
   *
   * @param timestamp of their block, when there is one only and it is known. In seconds since 1970.
   */
  read(
    node: ChainSource,
    logs: readonly ChainLog[],
    timestamp?: number,
  ): Promise<Pick<ChainBatch, 'events' | 'settleCalls'>>;
}

/** Transactions whose calls are asked for at once, so that each question fits its deadline. */
const TRANSACTIONS = 100;

/** How often the calls of some transactions are asked for before their fees are given up: what has happened must not wait for what it cost. */
const CALL_ATTEMPTS = 5;

const SETTLEMENT_TOPICS: readonly Hex[] = [
  EVENT_TOPICS.Trade,
  EVENT_TOPICS.Settlement,
  EVENT_TOPICS.OrderInvalidated,
  EVENT_TOPICS.PreSignature,
];
const ONCHAIN_ORDER_TOPICS: readonly Hex[] = [
  EVENT_TOPICS.OrderPlacement,
  EVENT_TOPICS.OrderInvalidation,
  EVENT_TOPICS.OrderRefund,
];

/** Makes a reader of the settlement contract, and of these that place orders. */
export function createLogReader(
  onchainOrderContracts: readonly Address[],
  { domain, run: ask, observe, isStopping }: LogReaderContext,
): LogReader {
  const addresses = [domain.settlementContract, ...onchainOrderContracts];
  const topics = [...SETTLEMENT_TOPICS, ...ONCHAIN_ORDER_TOPICS];
  let callFailures = 0;

  const logQuery = (of: LogQuery['of']): LogQuery => ({ addresses, topics, of });

  async function logsBetween(node: ChainSource, from: number, to: number): Promise<readonly ChainLog[]> {
    const logs = await ask((call) => node.logs(logQuery({ from, to }), call));
    const stray = logs.find(({ blockNumber }) => blockNumber < from || blockNumber > to);
    if (stray !== undefined) throw new Inconsistent(`block ${stray.blockNumber} was not asked for`);
    return logs;
  }

  async function logsOf(node: ChainSource, block: BlockHeader): Promise<readonly ChainLog[]> {
    const query = logQuery({ blockHash: block.hash });
    const logs = await ask((call) => node.logs(query, call));
    if (logs.some(({ blockHash }) => blockHash !== block.hash)) throw new Inconsistent('logs of another block came');
    const { logsBloom } = block;
    if (logs.length > 0 || logsBloom === undefined) return logs;
    // A node that has only just heard of a block may have none of its logs yet. The block itself says whether there are any.
    const expected =
      addresses.some((address) => mayContain(logsBloom, address)) &&
      topics.some((topic) => mayContain(logsBloom, topic));
    return expected ? ask((call) => node.logs(query, call)) : logs;
  }

  function eventsOf(logs: readonly ChainLog[]): ProtocolEvent[] {
    return logs.flatMap((log) => {
      const ours = log.address === domain.settlementContract ? SETTLEMENT_TOPICS : ONCHAIN_ORDER_TOPICS;
      const [topic] = log.topics;
      if (!addresses.includes(log.address) || topic === undefined || !ours.includes(topic)) return [];
      return decodeLog(log) ?? [];
    });
  }

  /** Orders that are placed on chain are as old as their block, whose time not every node tells with the log. */
  async function dated(node: ChainSource, events: readonly ProtocolEvent[]): Promise<ProtocolEvent[]> {
    const times = new Map<number, number>();
    for (const { event, timestamp, blockNumber } of events) {
      if (event !== 'OrderPlacement' || timestamp != null || times.has(blockNumber)) continue;
      const block = await ask((call) => node.block(blockNumber, call));
      if (block === undefined) throw new Inconsistent(`it has logs of block ${blockNumber}, but not the block`);
      times.set(blockNumber, block.timestamp);
    }
    return events.map((event) => ({ ...event, timestamp: event.timestamp ?? times.get(event.blockNumber) ?? null }));
  }

  async function withCalls(node: ChainSource, events: readonly ProtocolEvent[]) {
    const settlements = events.filter(({ event }) => event === 'Settlement');
    const hashes = [...new Set(settlements.map(({ transactionHash }) => transactionHash))];
    const settleCalls = new Map<Hex, readonly Hex[]>();
    for (let i = 0; i < hashes.length; i += TRANSACTIONS) {
      for (const [hash, calls] of await callsOf(node, hashes.slice(i, i + TRANSACTIONS))) settleCalls.set(hash, calls);
    }
    return { events, settleCalls };
  }

  async function callsOf(node: ChainSource, hashes: readonly Hex[]): Promise<ReadonlyMap<Hex, readonly Hex[]>> {
    const askFor = (some: readonly Hex[]) => ask((call) => node.settleCalls(domain.settlementContract, some, call));
    try {
      const calls = await askFor(hashes);
      callFailures = 0;
      return calls;
    } catch (failure) {
      if (++callFailures < CALL_ATTEMPTS || isStopping()) throw failure;
    }
    // One of them may be all that the node cannot find.
    const found = new Map<Hex, readonly Hex[]>();
    for (const hash of hashes) {
      try {
        for (const [key, calls] of await askFor([hash])) found.set(key, calls);
      } catch (failure) {
        if (isStopping()) throw failure;
        observe({ type: 'failure', source: node.name, failure });
      }
    }
    callFailures = 0;
    return found;
  }

  return {
    logsBetween,
    logsOf,
    async read(node, logs, timestamp) {
      const events = eventsOf(logs);
      return withCalls(
        node,
        timestamp === undefined ? await dated(node, events) : events.map((event) => ({ ...event, timestamp })),
      );
    },
  };
}
