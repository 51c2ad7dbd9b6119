import type { Address, BlockHeader, ChainLog, ChainSource, Hex, LogQuery } from 'intentbook';
import { assertKnownOptions, SETTLE_SELECTOR } from '#internal';
import { verifyDomain } from './chain-client.ts';
import type { RpcClient } from './rpc.ts';
import { callRpc, hex, list, NodeError, quantity, record, toQuantity } from './rpc.ts';

/** How a node is followed. */
export interface ViemSourceOptions {
  /** What logs call this node. Default `node`. Addresses of nodes often carry keys, so none is taken from there. */
  readonly name?: string;
}

/** Transactions that are asked for at once. */
const TRANSACTIONS = 100;

/** Traces are expensive for a node, so few are asked for at once. */
const TRACES = 4;

/**
 * A node to follow the chain by, through a client of viem. Give its transport `batch: true`, so that the transactions of
 * many settlements are asked for in one request. A settlement whose transaction does not call the settlement contract
 * itself is read from its trace (`debug_traceTransaction`), where the node has traces.
 *
 * @param client a `PublicClient` of one node: with several, make a source of each.
 */
export function viemSource(client: RpcClient, options: ViemSourceOptions = {}): ChainSource {
  assertKnownOptions('viemSource', options, ['name']);
  const { name = 'node' } = options;
  let traces = true;

  async function block(tag: string, signal: AbortSignal): Promise<BlockHeader | undefined> {
    const answer = await callRpc(client, signal, 'eth_getBlockByNumber', [tag, false]);
    return answer === null || answer === undefined ? undefined : headerOf(answer);
  }

  async function callsOf(settlement: Address, transaction: Hex, signal: AbortSignal): Promise<Direct> {
    const answer = await callRpc(client, signal, 'eth_getTransactionByHash', [transaction]);
    if (answer === null || answer === undefined) throw new Error(`the node does not have transaction ${transaction}`);
    const { to, input } = record(answer);
    const isDirect = typeof to === 'string' && to.toLowerCase() === settlement;
    const text = hex(input);
    return { transaction, calls: isDirect && text.startsWith(SETTLE_SELECTOR) ? [text] : undefined };
  }

  async function traced(
    settlement: Address,
    transaction: Hex,
    signal: AbortSignal,
  ): Promise<readonly Hex[] | undefined> {
    if (!traces) return undefined;
    try {
      const trace = await callRpc(client, signal, 'debug_traceTransaction', [transaction, { tracer: 'callTracer' }]);
      return [...settleCallsIn(trace, settlement)];
    } catch (error) {
      if (!(error instanceof NodeError && error.unsupported)) throw error;
      traces = false;
      return undefined;
    }
  }

  return {
    name,
    id: `${name} ${crypto.randomUUID()}`,
    verify: (domain, { signal }) => verifyDomain(client, name, domain, signal),
    async head({ signal }) {
      const head = await block('latest', signal);
      if (head === undefined) throw new Error('the node has no newest block');
      return head;
    },
    block: (number, { signal }) => block(toQuantity(number), signal),
    async logs(query, { signal }) {
      return list(await callRpc(client, signal, 'eth_getLogs', [filterOf(query)])).flatMap(logOf);
    },
    async settleCalls(settlement, transactions, { signal }) {
      const calls = new Map<Hex, readonly Hex[]>();
      const indirect: Hex[] = [];
      for (const some of chunks(transactions, TRANSACTIONS)) {
        for (const { transaction, calls: found } of await Promise.all(
          some.map((each) => callsOf(settlement, each, signal)),
        )) {
          if (found === undefined) indirect.push(transaction);
          else calls.set(transaction, found);
        }
      }
      for (const some of chunks(indirect, TRACES)) {
        for (const [transaction, found] of await Promise.all(
          some.map(async (each) => [each, await traced(settlement, each, signal)] as const),
        )) {
          if (found !== undefined) calls.set(transaction, found);
        }
      }
      return calls;
    },
  };
}

interface Direct {
  readonly transaction: Hex;
  /** Absent: it calls somebody else. */
  readonly calls: readonly Hex[] | undefined;
}

function headerOf(answer: unknown): BlockHeader {
  const { number, hash, parentHash, timestamp, logsBloom } = record(answer);
  return {
    number: quantity(number),
    hash: hex(hash, 32),
    parentHash: hex(parentHash, 32),
    timestamp: quantity(timestamp),
    ...(typeof logsBloom === 'string' ? { logsBloom: hex(logsBloom, 256) } : {}),
  };
}

function filterOf({ addresses, topics, of }: LogQuery) {
  const where = 'blockHash' in of ? of : { fromBlock: toQuantity(of.from), toBlock: toQuantity(of.to) };
  return { address: addresses, topics: [topics], ...where };
}

/** Logs that were taken back are told by some nodes too. */
function logOf(answer: unknown): ChainLog[] {
  const log = record(answer);
  if (log['removed'] === true) return [];
  return [
    {
      address: hex(log['address'], 20),
      topics: list(log['topics']).map((topic) => hex(topic, 32)),
      data: hex(log['data']),
      blockNumber: quantity(log['blockNumber']),
      blockHash: hex(log['blockHash'], 32),
      logIndex: quantity(log['logIndex']),
      transactionHash: hex(log['transactionHash'], 32),
      timestamp: typeof log['blockTimestamp'] === 'string' ? quantity(log['blockTimestamp']) : null,
    },
  ];
}

/** Calls of `settle` that went through, depth first: in the order in which they were made. */
function* settleCallsIn(trace: unknown, settlement: Address): Generator<Hex> {
  const { type, to, input, error, calls } = record(trace);
  if (error !== undefined) return; // with it, all that it called was undone
  if (type === 'CALL' && typeof to === 'string' && to.toLowerCase() === settlement) {
    const text = hex(input);
    if (text.startsWith(SETTLE_SELECTOR)) yield text;
  }
  for (const call of calls === undefined ? [] : list(calls)) yield* settleCallsIn(call, settlement);
}

function* chunks<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let i = 0; i < items.length; i += size) yield items.slice(i, i + size);
}
