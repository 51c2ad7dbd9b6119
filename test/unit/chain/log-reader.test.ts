import type { BlockHeader, ChainSource, Hex, IndexerObservation, LogQuery } from 'intentbook';
import type { ChainLog } from 'intentbook/chain-events';
import { EVENT_TOPICS } from 'intentbook/chain-events';
import { describe, expect, test } from 'vitest';
import { createLogReader, Inconsistent } from '../../../src/chain/log-reader.ts';
import { keccak256 } from '../../../src/crypto/keccak.ts';
import { hexToBytes } from '../../../src/protocol/hex.ts';
import type { Happening } from '../../support/chain-events.ts';
import { eventsIn, hashOf, placementOf, SETTLEMENT_HAPPENING, SOLVER } from '../../support/chain-events.ts';
import { encodeLog } from '../../support/chain-logs.ts';
import { COW, SEPOLIA_DOMAIN, WETH } from '../../support/orders.ts';

const FLOW: Hex = `0x${'ef'.repeat(20)}`;
const SETTLEMENT = SEPOLIA_DOMAIN.settlementContract;
const UID: Hex = `0x${'12'.repeat(56)}`;
const TOKENS = { sellToken: WETH.toLowerCase() as Hex, buyToken: COW.toLowerCase() as Hex }; // in lower case

const INVALIDATED: Happening = { event: 'OrderInvalidated', owner: SOLVER, orderUid: UID };
const block = (number: number, changes: Partial<BlockHeader> = {}): BlockHeader => ({
  number,
  hash: hashOf(String(number)),
  parentHash: hashOf(String(number - 1)),
  timestamp: 1_700_000_000 + number,
  ...changes,
});

/** Logs of one block, without the times that some nodes add. */
function logsOf(number: number, ...happenings: readonly (Happening & { readonly from?: Hex })[]): ChainLog[] {
  return eventsIn(block(number), happenings).map(({ event, timestamp: _, ...args }, i) => ({
    blockNumber: args.blockNumber,
    blockHash: args.blockHash,
    logIndex: args.logIndex,
    transactionHash: args.transactionHash,
    address: happenings[i]?.from ?? ('address' in args ? args.address : SETTLEMENT),
    ...encodeLog(event, args),
  }));
}

/** A 256-byte bloom filter with some values (Yellow Paper, 4.3.1). */
function bloomOf(...values: readonly Hex[]): Hex {
  const bytes = new Uint8Array(256);
  for (const value of values) {
    const hash = keccak256(hexToBytes(value));
    for (const at of [0, 2, 4]) {
      const bit = (((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 0x7ff;
      bytes[255 - (bit >> 3)] = (bytes[255 - (bit >> 3)] ?? 0) | (1 << (bit & 7));
    }
  }
  return `0x${Buffer.from(bytes).toString('hex')}`;
}

interface Responses {
  /** One response for each log request; the last one repeats. */
  readonly logs?: readonly (readonly ChainLog[])[];
  readonly blocks?: readonly BlockHeader[];
  readonly settleCalls?: (transactions: readonly Hex[]) => ReadonlyMap<Hex, readonly Hex[]>;
}

function fixture({ logs = [[]], blocks = [], settleCalls = () => new Map() }: Responses = {}) {
  const requests: { logs: LogQuery[]; blocks: number[]; calls: Hex[][] } = { logs: [], blocks: [], calls: [] };
  const observed: IndexerObservation[] = [];
  const state = { stopping: false };
  const node: ChainSource = {
    name: 'node',
    id: 'node',
    verify: async () => {},
    head: async () => block(1),
    async block(number) {
      requests.blocks.push(number);
      return blocks.find((each) => each.number === number);
    },
    async logs(query) {
      requests.logs.push(query);
      return logs[Math.min(requests.logs.length, logs.length) - 1] ?? [];
    },
    async settleCalls(contract, transactions) {
      expect(contract).toBe(SETTLEMENT);
      requests.calls.push([...transactions]);
      return settleCalls(transactions);
    },
  };
  const reader = createLogReader([FLOW], {
    domain: SEPOLIA_DOMAIN,
    run: (request) => request({ signal: new AbortController().signal }),
    observe: (observation) => void observed.push(observation),
    isStopping: () => state.stopping,
  });
  return { reader, node, requests, observed, state };
}

const { Trade, Settlement, OrderInvalidated, PreSignature } = EVENT_TOPICS;
const { OrderPlacement, OrderInvalidation, OrderRefund } = EVENT_TOPICS;

describe('log reader of a range', () => {
  test('requests the events of all contracts, both ends included', async () => {
    const logs = [...logsOf(5, INVALIDATED), ...logsOf(9, INVALIDATED)];
    const { reader, node, requests } = fixture({ logs: [logs] });
    expect(await reader.logsBetween(node, 5, 9)).toEqual(logs);
    expect(requests.logs).toEqual([
      {
        addresses: [SETTLEMENT, FLOW],
        topics: [Trade, Settlement, OrderInvalidated, PreSignature, OrderPlacement, OrderInvalidation, OrderRefund],
        of: { from: 5, to: 9 },
      },
    ]);
  });

  test.each([4, 10])('rejects logs of block %d, which was not requested', async (number) => {
    const { reader, node } = fixture({ logs: [[...logsOf(7, INVALIDATED), ...logsOf(number, INVALIDATED)]] });
    await expect(reader.logsBetween(node, 5, 9)).rejects.toThrow(
      new Inconsistent(`the node returned logs of block ${number}`),
    );
  });
});

describe('log reader of a block', () => {
  test('requests the block by its hash', async () => {
    const logs = logsOf(5, INVALIDATED);
    const { reader, node, requests } = fixture({ logs: [logs] });
    expect(await reader.logsOfBlock(node, block(5, { logsBloom: bloomOf() }))).toEqual(logs);
    expect(requests.logs.map(({ of }) => of)).toEqual([{ blockHash: block(5).hash }]);
  });

  test('rejects logs of another block', async () => {
    const { reader, node } = fixture({ logs: [[...logsOf(5, INVALIDATED), ...logsOf(6, INVALIDATED)]] });
    await expect(reader.logsOfBlock(node, block(5))).rejects.toThrow(
      new Inconsistent('the node returned logs of another block'),
    );
  });

  test.each<[string, Hex | undefined, number]>([
    ['without a bloom filter does not', undefined, 1],
    ['with an empty bloom filter does not', bloomOf(), 1],
    ['with a bloom filter of a contract only does not', bloomOf(SETTLEMENT), 1],
    ['with a bloom filter of an event only does not', bloomOf(Trade), 1],
    ['with a bloom filter of a contract and an event', bloomOf(SETTLEMENT, Trade), 2],
    ['with a bloom filter of a contract that places orders', bloomOf(FLOW, OrderRefund), 2],
  ])('without logs %s request them again', async (_, logsBloom, requested) => {
    const late = logsOf(5, INVALIDATED);
    const { reader, node, requests } = fixture({ logs: [[], late] });
    const header = logsBloom === undefined ? block(5) : block(5, { logsBloom });
    expect(await reader.logsOfBlock(node, header)).toEqual(requested === 2 ? late : []);
    expect(requests.logs).toHaveLength(requested);
  });
});

describe('log reader decodes', () => {
  test('events of the contract that emits them, and no others', async () => {
    const logs = logsOf(
      5,
      INVALIDATED,
      { ...INVALIDATED, from: FLOW },
      { ...INVALIDATED, from: SOLVER },
      { event: 'OrderRefund', address: FLOW, orderUid: UID, refunder: SOLVER },
      { event: 'OrderRefund', address: SETTLEMENT, orderUid: UID, refunder: SOLVER },
      { event: 'OrderInvalidation', address: FLOW, orderUid: UID },
      { event: 'PreSignature', owner: SOLVER, orderUid: UID, signed: true },
    );
    const [first] = logs;
    if (first === undefined) throw new Error('no log');
    const malformed = [
      { ...first, logIndex: 7, topics: [] },
      { ...first, logIndex: 8, topics: [hashOf('another event')] },
      { ...first, logIndex: 9, data: '0x' as const },
    ];
    const { reader, node } = fixture();
    const { events } = await reader.read(node, [...logs, ...malformed], 99);
    expect(events.map(({ event, logIndex, timestamp }) => [event, logIndex, timestamp])).toEqual([
      ['OrderInvalidated', 0, 99],
      ['OrderRefund', 3, 99],
      ['OrderInvalidation', 5, 99],
      ['PreSignature', 6, 99],
    ]);
  });

  test('placements with the time of their block, which is read once', async () => {
    const placement = placementOf(TOKENS);
    const logs = [...logsOf(5, placement, placement, INVALIDATED), ...logsOf(6, INVALIDATED), ...logsOf(7, placement)];
    const timed = logsOf(8, placement).map((log) => ({ ...log, timestamp: 77 }));
    const { reader, node, requests } = fixture({ blocks: [block(5), block(7)] });
    const { events } = await reader.read(node, [...logs, ...timed]);
    expect(requests.blocks).toEqual([5, 7]);
    expect(events.map(({ blockNumber, timestamp }) => [blockNumber, timestamp])).toEqual([
      [5, 1_700_000_005],
      [5, 1_700_000_005],
      [5, 1_700_000_005],
      [6, null],
      [7, 1_700_000_007],
      [8, 77],
    ]);
  });

  test('no placement of a block that the node does not have', async () => {
    const { reader, node } = fixture();
    await expect(reader.read(node, logsOf(5, placementOf(TOKENS)))).rejects.toThrow(
      new Inconsistent('it has logs of block 5, but not the block'),
    );
  });
});

describe('log reader of calldata', () => {
  const settlements = (count: number) =>
    Array.from({ length: count }, (_, i) => logsOf(i + 1, SETTLEMENT_HAPPENING, INVALIDATED)).flat();
  const hashesOf = (logs: readonly ChainLog[]) => logs.filter((_, i) => i % 2 === 0).map((log) => log.transactionHash);
  const inputsOf = (transactions: readonly Hex[]) => new Map(transactions.map((hash) => [hash, [hash]]));

  test('requests each transaction with a settlement once', async () => {
    const transactionHash = hashOf('both');
    const logs = logsOf(5, { ...SETTLEMENT_HAPPENING, transactionHash }, { ...SETTLEMENT_HAPPENING, transactionHash });
    const { reader, node, requests } = fixture({ settleCalls: inputsOf });
    const { settleCalls } = await reader.read(node, [...logs, ...logsOf(6, INVALIDATED)]);
    expect(requests.calls).toEqual([[transactionHash]]);
    expect(settleCalls).toEqual(new Map([[transactionHash, [transactionHash]]]));
  });

  test('requests nothing without settlements', async () => {
    const { reader, node, requests } = fixture();
    expect((await reader.read(node, logsOf(6, INVALIDATED))).settleCalls).toEqual(new Map());
    expect(requests.calls).toEqual([]);
  });

  test('requests at most 100 transactions at once', async () => {
    const logs = settlements(200);
    const { reader, node, requests } = fixture({ settleCalls: inputsOf });
    const { settleCalls } = await reader.read(node, logs);
    expect(requests.calls).toEqual([hashesOf(logs).slice(0, 100), hashesOf(logs).slice(100)]);
    expect(settleCalls).toEqual(inputsOf(hashesOf(logs)));
  });

  test('fails four times, then leaves out the transactions that the node does not have', async () => {
    const logs = settlements(3);
    const [one, missing, three] = hashesOf(logs);
    const failure = new Error('missing transaction');
    const { reader, node, requests, observed } = fixture({
      settleCalls(transactions) {
        if (missing !== undefined && transactions.includes(missing)) throw failure;
        return inputsOf(transactions);
      },
    });
    for (let i = 0; i < 4; i++) await expect(reader.read(node, logs)).rejects.toBe(failure);
    expect(requests.calls).toEqual(Array.from({ length: 4 }, () => [one, missing, three]));
    requests.calls.length = 0;
    const { settleCalls } = await reader.read(node, logs);
    expect(requests.calls).toEqual([[one, missing, three], [one], [missing], [three]]);
    expect([...(settleCalls?.keys() ?? [])]).toEqual([one, three]);
    expect(observed).toEqual([{ type: 'failure', source: 'node', failure }]);
    // The attempts begin again.
    await expect(reader.read(node, logs)).rejects.toBe(failure);
  });

  test('counts attempts since the last success', async () => {
    const logs = settlements(1);
    const state = { broken: true };
    const { reader, node } = fixture({
      settleCalls(transactions) {
        if (state.broken) throw new Error('down');
        return inputsOf(transactions);
      },
    });
    for (let i = 0; i < 4; i++) await expect(reader.read(node, logs)).rejects.toThrow('down');
    state.broken = false;
    await reader.read(node, logs);
    state.broken = true;
    for (let i = 0; i < 4; i++) await expect(reader.read(node, logs)).rejects.toThrow('down');
    expect((await reader.read(node, logs)).settleCalls).toEqual(new Map());
  });

  test('fails at once while the indexer stops', async () => {
    const logs = settlements(2);
    const { reader, node, requests, observed, state } = fixture({
      settleCalls(transactions) {
        state.stopping = requests.calls.length === 6;
        throw new Error(`no ${transactions.length}`);
      },
    });
    for (let i = 0; i < 4; i++) await expect(reader.read(node, logs)).rejects.toThrow('no 2');
    await expect(reader.read(node, logs)).rejects.toThrow('no 1');
    expect(observed).toEqual([]);
    state.stopping = true;
    const stopped = fixture({
      settleCalls() {
        throw new Error('stopping');
      },
    });
    stopped.state.stopping = true;
    for (let i = 0; i < 6; i++) await expect(stopped.reader.read(stopped.node, logs)).rejects.toThrow('stopping');
    expect(stopped.requests.calls).toHaveLength(6);
  });
});
