import type { ChainCall } from '../ports/chain-client.ts';
import type { BlockHeader, ChainSource, LogQuery } from '../ports/chain-source.ts';
import type { ApplyOutcome } from '../ports/chain-store.ts';
import { mayContain } from '../protocol/bloom.ts';
import type { Domain } from '../protocol/eip712.ts';
import { type ChainLog, decodeLog, EVENT_TOPICS, type ProtocolEvent } from '../protocol/event-decoder.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { ChainBatch } from './decode-batch.ts';
import type { IndexerObservation } from './indexer-options.ts';

/** Thrown when a node contradicts itself or an earlier response. The indexer retries. */
export class Inconsistent extends Error {
  override readonly name = 'Inconsistent';
}

/** Creates the error of a node whose batch contradicts the stored blocks. */
export function toInconsistent({ block, stored, log }: ApplyOutcome & { readonly status: 'conflict' }): Inconsistent {
  if (log === undefined) return new Inconsistent(`block ${block} has another hash than ${stored}`);
  return new Inconsistent(`log ${log} of block ${block} contradicts another log, or the calldata of its transaction`);
}

/**
 * Returns a block whose successor names its hash. A wrong hash in the checkpoint would look like a reorganisation
 * beyond the limit, which stops the indexer.
 */
export async function readConfirmedBlock(
  read: (number: number) => Promise<BlockHeader | undefined>,
  number: number,
  head: BlockHeader,
): Promise<BlockHeader> {
  const [block, next] = await Promise.all([read(number), read(number + 1)]);
  if (block === undefined || next === undefined) {
    throw new Inconsistent(`it has block ${head.number}, but not block ${block === undefined ? number : number + 1}`);
  }
  if (next.parentHash !== block.hash) throw new Inconsistent(`block ${number} has two hashes`);
  return block;
}

/** Transactions whose calldata is read in one request, so that the request fits its timeout. */
const TRANSACTIONS_PER_REQUEST = 100;

/** Attempts to read the calldata of transactions. Then their fees stay unknown, so that indexing can continue. */
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

/** Runs a request to a node with a timeout. */
export type ChainQuery = <T>(request: (call: ChainCall) => Promise<T>) => Promise<T>;

interface LogReaderContext {
  readonly domain: Domain;
  readonly run: ChainQuery;
  readonly observe: (observation: IndexerObservation) => void;
  readonly isStopping: () => boolean;
}

/** Creates a reader of the settlement contract and of contracts that place orders. */
export function createLogReader(
  onchainOrderContracts: readonly Address[],
  { domain, run, observe, isStopping }: LogReaderContext,
) {
  const addresses = [domain.settlementContract, ...onchainOrderContracts];
  const topics = [...SETTLEMENT_TOPICS, ...ONCHAIN_ORDER_TOPICS];
  const readCalls = createCallReader(domain.settlementContract, { run, observe, isStopping });

  const logQuery = (of: LogQuery['of']): LogQuery => ({ addresses, topics, of });

  /**
   * Reads the logs of a range of blocks, both ends included. Throws `Inconsistent` if logs of other blocks are among
   * them.
   */
  async function logsBetween(node: ChainSource, from: number, to: number): Promise<readonly ChainLog[]> {
    const logs = await run((call) => node.logs(logQuery({ from, to }), call));
    const foreign = logs.find(({ blockNumber }) => blockNumber < from || blockNumber > to);
    if (foreign !== undefined) throw new Inconsistent(`the node returned logs of block ${foreign.blockNumber}`);
    return logs;
  }

  /** Reads the logs of one block by its hash. Throws `Inconsistent` if logs of other blocks are among them. */
  async function logsOfBlock(node: ChainSource, block: BlockHeader): Promise<readonly ChainLog[]> {
    const query = logQuery({ blockHash: block.hash });
    const logs = await run((call) => node.logs(query, call));
    if (logs.some(({ blockHash }) => blockHash !== block.hash))
      throw new Inconsistent('the node returned logs of another block');
    const { logsBloom } = block;
    if (logs.length > 0 || logsBloom === undefined) return logs;
    // A node may have a new block before it has the block's logs. The bloom filter shows whether the block has any.
    const expected =
      addresses.some((address) => mayContain(logsBloom, address)) &&
      topics.some((topic) => mayContain(logsBloom, topic));
    return expected ? run((call) => node.logs(query, call)) : logs;
  }

  function decodeLogs(logs: readonly ChainLog[]): ProtocolEvent[] {
    return logs.flatMap((log) => {
      const expected = log.address === domain.settlementContract ? SETTLEMENT_TOPICS : ONCHAIN_ORDER_TOPICS;
      const [topic] = log.topics;
      if (!addresses.includes(log.address) || topic === undefined || !expected.includes(topic)) return [];
      return decodeLog(log) ?? [];
    });
  }

  /** Adds the calldata of settlements. */
  async function addCalls(node: ChainSource, events: readonly ProtocolEvent[]) {
    const settlements = events.filter(({ event }) => event === 'Settlement');
    const hashes = [...new Set(settlements.map(({ transactionHash }) => transactionHash))];
    const settleCalls = new Map<Hex, readonly Hex[]>();
    for (let i = 0; i < hashes.length; i += TRANSACTIONS_PER_REQUEST) {
      for (const [hash, calls] of await readCalls(node, hashes.slice(i, i + TRANSACTIONS_PER_REQUEST)))
        settleCalls.set(hash, calls);
    }
    return { events, settleCalls };
  }

  return {
    logsBetween,
    logsOfBlock,
    /**
     * Decodes logs, and reads the calldata of the settlements among them.
     *
     * @param timestamp - Time of their block, if it is one block and the time is known. In seconds since 1970.
     */
    async read(
      node: ChainSource,
      logs: readonly ChainLog[],
      timestamp?: number,
    ): Promise<Pick<ChainBatch, 'events' | 'settleCalls'>> {
      const events = decodeLogs(logs);
      return addCalls(
        node,
        timestamp === undefined
          ? await addTimestamps(node, events, run)
          : events.map((event) => ({ ...event, timestamp })),
      );
    },
  };
}

/** Creates the reader of calldata. Transactions without a result after some attempts are left out. */
function createCallReader(settlementContract: Address, { run, observe, isStopping }: Omit<LogReaderContext, 'domain'>) {
  let callFailures = 0;
  return async (node: ChainSource, hashes: readonly Hex[]): Promise<ReadonlyMap<Hex, readonly Hex[]>> => {
    const request = (some: readonly Hex[]) => run((call) => node.settleCalls(settlementContract, some, call));
    try {
      const calls = await request(hashes);
      callFailures = 0;
      return calls;
    } catch (failure) {
      if (++callFailures < CALL_ATTEMPTS || isStopping()) throw failure;
    }
    // The node may lack a single transaction only.
    const results = new Map<Hex, readonly Hex[]>();
    for (const hash of hashes) {
      try {
        for (const [key, calls] of await request([hash])) results.set(key, calls);
      } catch (failure) {
        if (isStopping()) throw failure;
        observe({ type: 'failure', source: node.name, failure });
      }
    }
    callFailures = 0;
    return results;
  };
}

/** Adds block times to placements, whose creation date is the block time. Not every node returns it with a log. */
async function addTimestamps(
  node: ChainSource,
  events: readonly ProtocolEvent[],
  run: ChainQuery,
): Promise<ProtocolEvent[]> {
  const times = new Map<number, number>();
  for (const { event, timestamp, blockNumber } of events) {
    if (event !== 'OrderPlacement' || timestamp != null || times.has(blockNumber)) continue;
    const block = await run((call) => node.block(blockNumber, call));
    if (block === undefined) throw new Inconsistent(`it has logs of block ${blockNumber}, but not the block`);
    times.set(blockNumber, block.timestamp);
  }
  return events.map((event) => ({ ...event, timestamp: event.timestamp ?? times.get(event.blockNumber) ?? null }));
}
