import type { Address, Hex } from 'intentbook';
import { viemSource } from 'intentbook/viem';
import { describe, expect, it } from 'vitest';

const hash = (digit: string): Hex => `0x${digit.repeat(64)}`;
const SETTLEMENT: Address = `0x${'9'.repeat(40)}`;
const SETTLE: Hex = '0x13d79a0b00';
const FULL: Hex = `0x${'f'.repeat(512)}`;

const HEADER = { number: '0x5', hash: hash('5'), parentHash: hash('4'), timestamp: '0x65', logsBloom: FULL };
const LOG = {
  address: SETTLEMENT,
  topics: [hash('a')],
  data: '0x',
  blockNumber: '0x5',
  blockHash: hash('5'),
  logIndex: '0x0',
  transactionHash: hash('1'),
  blockTimestamp: '0x65',
};

const call = () => ({ signal: new AbortController().signal });

/** A source whose node has one response for each method. */
const sourceOf = (responses: Readonly<Record<string, unknown>>) =>
  viemSource({ request: async ({ method }) => responses[method] });

describe('a header', () => {
  it.each<[logsBloom: unknown, expected: Hex | undefined]>([
    [FULL, FULL],
    [FULL.toUpperCase().replace('X', 'x'), FULL],
    ['0x', undefined],
    ['0x0', undefined],
    ['0x00', undefined],
    [`${FULL}ff`, undefined],
    [null, undefined],
    [undefined, undefined],
    [7, undefined],
  ])('with the filter %j is read', async (logsBloom, expected) => {
    const head = await sourceOf({ eth_getBlockByNumber: { ...HEADER, logsBloom } }).head(call());
    expect([head.number, head.hash, head.logsBloom]).toEqual([5, hash('5'), expected]);
  });

  it.each([
    { hash: null },
    { hash: '0x' },
    { number: null },
    { number: '5' },
    { parentHash: undefined },
    { timestamp: null },
    { timestamp: 101 },
    { timestamp: '0x18bcfe56800' }, // milliseconds
    { timestamp: '0x3afff44180' }, // the year 10000
    { timestamp: '0x1fffffffffffff' },
  ])('with %j is an error', async (changes) => {
    const source = sourceOf({ eth_getBlockByNumber: { ...HEADER, ...changes } });
    await expect(source.head(call())).rejects.toThrow('the node returned');
  });
});

describe('a log', () => {
  const read = (changes: object) =>
    sourceOf({ eth_getLogs: [{ ...LOG, ...changes }] }).logs(
      { addresses: [SETTLEMENT], topics: [hash('a')], of: { from: 5, to: 5 } },
      call(),
    );

  // The block has the time, so an unusable one of the log is ignored.
  it.each<[blockTimestamp: unknown, expected: number | null]>([
    ['0x65', 101],
    ['0xFFFFFFFF', 4_294_967_295],
    ['0x3afff4417f', 253_402_300_799],
    ['0x18bcfe56800', null],
    ['0x0', null],
    ['0x', null],
    ['0x00', null],
    ['1751284607', null],
    [1_751_284_607, null],
    ['0x1ffffffffffffffff', null],
    [null, null],
    [undefined, null],
  ])('with the time %j is read', async (blockTimestamp, expected) => {
    expect(await read({ blockTimestamp })).toMatchObject([{ blockNumber: 5, timestamp: expected }]);
  });

  it('that was removed is ignored, also without a block', async () => {
    expect(await read({ removed: true, blockHash: null, blockNumber: null, logIndex: null })).toEqual([]);
    expect(await read({ removed: false })).toHaveLength(1);
  });

  it.each([{ blockHash: null }, { blockNumber: null }, { logIndex: null }, { transactionHash: null }])(
    'of a pending block, with %j, is an error',
    async (changes) => {
      await expect(read(changes)).rejects.toThrow('the node returned null');
    },
  );
});

it.each(['\n', '\r\n', '\u2028', '\u001b[2K'])(
  'an error of a node has no %j, which would change a log',
  async (text) => {
    const source = viemSource({
      async request() {
        throw Object.assign(new Error('failed'), { details: `limit${text}reached` });
      },
    });
    await expect(source.head(call())).rejects.toThrow(/^eth_getBlockByNumber: limit \S*reached$/);
  },
);

describe('a transaction of a settlement', () => {
  const read = (transaction: object, trace?: unknown) =>
    sourceOf({ eth_getTransactionByHash: transaction, debug_traceTransaction: trace }).settleCalls(
      SETTLEMENT,
      [hash('1')],
      call(),
    );
  const INDIRECT = { to: null, input: '0x60' };
  const CALL = { type: 'CALL', to: SETTLEMENT, input: SETTLE };

  it('that calls the contract directly needs no trace', async () => {
    const checksummed = SETTLEMENT.toUpperCase().replace('X', 'x');
    expect([...(await read({ to: checksummed, input: SETTLE }))]).toEqual([[hash('1'), [SETTLE]]]);
  });

  it.each([{ data: SETTLE }, { input: null, data: SETTLE }])(
    'with %j in place of an input is read',
    async (members) => {
      expect([...(await read({ to: SETTLEMENT, ...members }))]).toEqual([[hash('1'), [SETTLE]]]);
    },
  );

  it.each([{ to: null }, { to: null, input: null }, { to: hash('2'), input: '' }])(
    'to another contract needs no input (%j)',
    async (transaction) => {
      expect([...(await read(transaction, CALL))]).toEqual([[hash('1'), [SETTLE]]]);
    },
  );

  it.each<[name: string, trace: object, calls: number]>([
    ['a call', { ...CALL, type: 'CALL', to: hash('2'), calls: [CALL] }, 1],
    ['an error', { type: 'CALL', calls: [{ ...CALL, error: 'execution reverted' }] }, 0],
    ['an outer error', { type: 'CALL', error: 'out of gas', calls: [CALL] }, 0],
    ['no call', { type: 'CALL' }, 0],
    ['a delegated call', { ...CALL, type: 'DELEGATECALL' }, 0],
    ['a static call', { ...CALL, type: 'STATICCALL' }, 0],
    ['a call without an input', { ...CALL, input: null, calls: [CALL] }, 1],
    // The form of the ZKsync stack.
    ['null in place of members', { ...CALL, type: 'Call', error: null, revertReason: null, calls: null }, 1],
    ['null in an inner call', { type: 'Call', error: null, calls: [{ ...CALL, error: null, calls: [] }] }, 1],
    // Nodes that do not know the tracer return the steps of the virtual machine.
    ['steps', { gas: 21_000, failed: false, returnValue: '', structLogs: [] }, 0],
  ])('has the calls of a trace with %s', async (_, trace, calls) => {
    expect((await read(INDIRECT, trace)).get(hash('1'))).toHaveLength(calls);
  });
});
