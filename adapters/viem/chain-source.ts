import type { Address, BlockHeader, ChainSource, Hex, LogQuery } from 'intentbook';
import type { ChainLog } from 'intentbook/chain-events';
import { assertKnownOptions, parseHex, SETTLE_SELECTOR } from '#internal';
import { verifyDomain } from './chain-client.ts';
import type { RpcClient } from './rpc.ts';
import { callRpc, list, NodeError, parseHexResult, parseQuantity, record, requireClient, toQuantity } from './rpc.ts';

/** Options of a chain source. */
export interface ViemSourceOptions {
  /** Name in logs. Default: `node`. It is not derived from the URL, which often contains a key. */
  readonly name?: string;
}

/** Maximum number of concurrent transaction requests. */
const TRANSACTIONS = 100;

/** Maximum number of concurrent trace requests, which are expensive for a node. */
const TRACES = 4;

/**
 * Creates a chain source on a viem client. Its transport should use `batch: true`, so that the transactions of many
 * settlements are read in one request. If a settlement's transaction does not call the settlement contract directly,
 * its trace is read (`debug_traceTransaction`), if the node supports traces.
 *
 * @param client - A `PublicClient` of one node. Create one source for each node.
 * @throws TypeError if an option is unknown or malformed.
 */
export function viemSource(client: RpcClient, options: ViemSourceOptions = {}): ChainSource {
  requireClient('viemSource', client);
  assertKnownOptions('viemSource', options, ['name']);
  const { name = 'node' } = options;
  if (typeof name !== 'string') throw new TypeError(`viemSource: name must be a text, got ${String(name)}`);

  async function readBlock(tag: string, signal: AbortSignal): Promise<BlockHeader | undefined> {
    const result = await callRpc(client, signal, 'eth_getBlockByNumber', [tag, false]);
    return result === null || result === undefined ? undefined : parseHeader(result);
  }

  async function readDirectCall(settlement: Address, transaction: Hex, signal: AbortSignal): Promise<DirectCall> {
    const result = await callRpc(client, signal, 'eth_getTransactionByHash', [transaction]);
    if (result === null || result === undefined) throw new Error(`the node does not have transaction ${transaction}`);
    const { to, input, data } = record(result);
    if (typeof to !== 'string' || to.toLowerCase() !== settlement) return { transaction, calls: undefined };
    const text = parseHexResult(input ?? data);
    return { transaction, calls: text.startsWith(SETTLE_SELECTOR) ? [text] : undefined };
  }

  async function readTracedCalls(settlement: Address, transaction: Hex, signal: AbortSignal): Promise<readonly Hex[]> {
    const trace = await callRpc(client, signal, 'debug_traceTransaction', [transaction, { tracer: 'callTracer' }]);
    return [...findSettleCalls(trace, settlement)];
  }

  return {
    name,
    id: `${name} ${crypto.randomUUID()}`,
    verify: (domain, { signal }) => verifyDomain(client, name, domain, signal),
    async head({ signal }) {
      const head = await readBlock('latest', signal);
      if (head === undefined) throw new Error('the node returned no newest block');
      return head;
    },
    block: (number, { signal }) => readBlock(toQuantity(number), signal),
    async logs(query, { signal }) {
      return list(await callRpc(client, signal, 'eth_getLogs', [toLogFilter(query)])).flatMap(parseLog);
    },
    async settleCalls(settlement, transactions, { signal }) {
      const calls = new Map<Hex, readonly Hex[]>();
      const indirect: Hex[] = [];
      for (const chunk of chunks(transactions, TRANSACTIONS)) {
        const directCalls = await Promise.all(chunk.map((each) => readDirectCall(settlement, each, signal)));
        for (const { transaction, calls: direct } of directCalls) {
          if (direct === undefined) indirect.push(transaction);
          else calls.set(transaction, direct);
        }
      }
      try {
        for (const chunk of chunks(indirect, TRACES)) {
          await Promise.all(
            chunk.map(async (each) => calls.set(each, await readTracedCalls(settlement, each, signal))),
          );
        }
      } catch (error) {
        // Not remembered: a node may be several, of which one lacks traces.
        if (!(error instanceof NodeError && error.unsupported)) throw error;
      }
      return calls;
    },
  };
}

interface DirectCall {
  readonly transaction: Hex;
  /** Undefined if the transaction does not call `settle` of the settlement contract directly. */
  readonly calls: readonly Hex[] | undefined;
}

function parseHeader(result: unknown): BlockHeader {
  const { number, hash, parentHash, timestamp, logsBloom } = record(result);
  const bloom = parseHex(logsBloom, 256);
  return {
    number: parseQuantity(number),
    hash: parseHexResult(hash, 32),
    parentHash: parseHexResult(parentHash, 32),
    timestamp: parseTime(timestamp),
    // Some nodes return `0x`. The filter only shows whether logs may be missing.
    ...(bloom === undefined ? {} : { logsBloom: bloom }),
  };
}

/** The last second of the year 9999, the last one of an ISO 8601 date. Some nodes return milliseconds. */
const MAX_TIME = 253_402_300_799;

function parseTime(value: unknown): number {
  const time = parseQuantity(value);
  if (time > MAX_TIME) throw new TypeError(`the node returned the time ${time}, which is not in seconds`);
  return time;
}

function toLogFilter({ addresses, topics, of }: LogQuery) {
  const range = 'blockHash' in of ? of : { fromBlock: toQuantity(of.from), toBlock: toQuantity(of.to) };
  return { address: addresses, topics: [topics], ...range };
}

/** Parses a log. Returns nothing for a removed log, which some nodes also return. */
function parseLog(result: unknown): ChainLog[] {
  const log = record(result);
  if (log['removed'] === true) return [];
  return [
    {
      address: parseHexResult(log['address'], 20),
      topics: list(log['topics']).map((topic) => parseHexResult(topic, 32)),
      data: parseHexResult(log['data']),
      blockNumber: parseQuantity(log['blockNumber']),
      blockHash: parseHexResult(log['blockHash'], 32),
      logIndex: parseQuantity(log['logIndex']),
      transactionHash: parseHexResult(log['transactionHash'], 32),
      timestamp: parseLogTime(log['blockTimestamp']),
    },
  ];
}

/** Parses the time of a log. Some nodes return none, 0 or a decimal number: then the header of the block is read. */
function parseLogTime(value: unknown): number | null {
  const time = typeof value === 'string' && /^0x[1-9a-f][0-9a-f]{0,12}$/i.test(value) ? Number(value) : Infinity;
  return time > MAX_TIME ? null : time;
}

/** Returns the successful calls of `settle` in the order in which they were made (depth first). */
function* findSettleCalls(trace: unknown, settlement: Address): Generator<Hex> {
  // Nodes of the ZKsync stack write `Call`, and null for a member without a value.
  const { type, to, input, error, calls } = record(trace);
  if (error !== undefined && error !== null) return; // a reverted call also reverts its inner calls
  if (/^call$/i.test(String(type)) && typeof to === 'string' && to.toLowerCase() === settlement) {
    const text = parseHexResult(input ?? '0x');
    if (text.startsWith(SETTLE_SELECTOR)) yield text;
  }
  for (const call of list(calls ?? [])) yield* findSettleCalls(call, settlement);
}

function* chunks<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let i = 0; i < items.length; i += size) yield items.slice(i, i + size);
}
