import fc from 'fast-check';
import { toEventSelector } from 'viem';
import { describe, expect, test } from 'vitest';
import type { ChainLog, ProtocolEvent } from '../../../src/protocol/event-decoder.ts';
import { decodeLog, EVENT_TOPICS } from '../../../src/protocol/event-decoder.ts';
import type { Address, Hex } from '../../../src/protocol/hex.ts';
import { encodeLog, eventAbi } from '../../support/chain-logs.ts';

const hex = (bytes: number): fc.Arbitrary<Hex> =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((value): Hex => `0x${Buffer.from(value).toString('hex')}`);
const someHex = fc.uint8Array({ maxLength: 100 }).map((value): Hex => `0x${Buffer.from(value).toString('hex')}`);
const address = hex(20);
const amount = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
const uid = hex(56);

const order = fc.record({
  sellToken: address,
  buyToken: address,
  receiver: address,
  sellAmount: amount,
  buyAmount: amount,
  validTo: fc.nat(0xffff_ffff),
  appData: hex(32),
  feeAmount: amount,
  kind: hex(32),
  partiallyFillable: fc.boolean(),
  sellTokenBalance: hex(32),
  buyTokenBalance: hex(32),
});

const CONTRACT: Address = `0x${'c0'.repeat(20)}`;
const PLACE = {
  blockNumber: 7,
  blockHash: `0x${'b1'.repeat(32)}`,
  logIndex: 3,
  transactionHash: `0x${'7a'.repeat(32)}`,
  timestamp: null,
} as const;

type Decoded = ProtocolEvent extends infer Event ? Omit<Event, keyof typeof PLACE> : never;

const events: Readonly<Record<ProtocolEvent['event'], fc.Arbitrary<object>>> = {
  Trade: fc.record({
    owner: address,
    sellToken: address,
    buyToken: address,
    sellAmount: amount,
    buyAmount: amount,
    feeAmount: amount,
    orderUid: uid,
  }),
  Settlement: fc.record({ solver: address }),
  OrderInvalidated: fc.record({ owner: address, orderUid: uid }),
  PreSignature: fc.record({ owner: address, orderUid: uid, signed: fc.boolean() }),
  OrderPlacement: fc.record({
    sender: address,
    order,
    data: someHex,
    signature: fc.record({ scheme: fc.nat(255), data: someHex }),
  }),
  OrderInvalidation: fc.record({ orderUid: uid }),
  OrderRefund: fc.record({ orderUid: uid, refunder: address }),
};
const NAMES = Object.keys(events) as ProtocolEvent['event'][];
const OF_PLACERS = ['OrderPlacement', 'OrderInvalidation', 'OrderRefund'];

const logOf = (name: string, args: object): ChainLog => ({ ...PLACE, address: CONTRACT, ...encodeLog(name, args) });

describe('event decoder matches an independent encoder', () => {
  test.each(NAMES)('%s', (name) => {
    expect(EVENT_TOPICS[name]).toBe(toEventSelector(eventAbi(name)));
    fc.assert(
      fc.property(events[name], (args) => {
        const expected = {
          event: name,
          ...PLACE,
          ...(OF_PLACERS.includes(name) ? { address: CONTRACT } : {}),
          ...args,
        };
        expect(decodeLog(logOf(name, args))).toEqual(expected as Decoded);
      }),
      { numRuns: 50 },
    );
  });
});

test('event decoder ignores other logs', () => {
  const topic = fc.oneof(fc.constantFrom(...Object.values(EVENT_TOPICS)), hex(32));
  const log = fc.record({ topics: fc.array(topic, { maxLength: 4 }), data: fc.uint8Array({ maxLength: 700 }) });
  fc.assert(
    fc.property(log, ({ topics, data }) => {
      decodeLog({ ...PLACE, address: CONTRACT, topics, data: `0x${Buffer.from(data).toString('hex')}` });
    }),
    { numRuns: 1000 },
  );
});

test('event decoder ignores a truncated log', () => {
  for (const name of NAMES) {
    const [args] = fc.sample(events[name], { numRuns: 1, seed: 1 });
    const log = logOf(name, args ?? {});
    for (let end = 2; end < log.data.length - 64; end += 2) {
      expect(decodeLog({ ...log, data: log.data.slice(0, end) as Hex })).toBeUndefined();
    }
  }
});

// Each word of a log is replaced by an invalid value of its type. The others stay unchanged.
describe('event decoder reports a malformed log', () => {
  const ORDER = {
    sellToken: CONTRACT,
    buyToken: CONTRACT,
    receiver: CONTRACT,
    sellAmount: 1n,
    buyAmount: 2n,
    validTo: 3,
    appData: `0x${'0a'.repeat(32)}`,
    feeAmount: 4n,
    kind: `0x${'0b'.repeat(32)}`,
    partiallyFillable: true,
    sellTokenBalance: `0x${'0c'.repeat(32)}`,
    buyTokenBalance: `0x${'0d'.repeat(32)}`,
  };
  const UID = `0x${'0e'.repeat(56)}`;
  const LOGS = {
    Trade: logOf('Trade', {
      owner: CONTRACT,
      sellToken: CONTRACT,
      buyToken: CONTRACT,
      sellAmount: 1n,
      buyAmount: 2n,
      feeAmount: 3n,
      orderUid: UID,
    }),
    OrderPlacement: logOf('OrderPlacement', {
      sender: CONTRACT,
      order: ORDER,
      signature: { scheme: 1, data: '0x01' },
      data: '0x02',
    }),
  };
  const FULL = 'f'.repeat(64);

  function withWord({ data, ...log }: ChainLog, place: number, word: string): ChainLog {
    const at = 2 + 64 * place;
    return { ...log, data: `${data.slice(0, at)}${word}${data.slice(at + 64)}` as Hex };
  }

  test.each([
    ['Trade', 'sellToken', 0],
    ['Trade', 'buyToken', 1],
    ['Trade', 'the offset of orderUid', 5],
    ['Trade', 'the length of orderUid', 6],
    ['OrderPlacement', 'sellToken', 0],
    ['OrderPlacement', 'buyToken', 1],
    ['OrderPlacement', 'receiver', 2],
    ['OrderPlacement', 'validTo', 5],
    ['OrderPlacement', 'the offset of the signature', 12],
    ['OrderPlacement', 'the offset of the data', 13],
    ['OrderPlacement', 'the scheme', 14],
    ['OrderPlacement', 'the offset of the signature’s bytes', 15],
  ] as const)('%s: %s', (name, _, place) => {
    expect(decodeLog(LOGS[name])).toBeDefined();
    expect(decodeLog(withWord(LOGS[name], place, FULL))).toBeUndefined();
  });

  test.each([
    ['Trade', 6, 56, 64],
    ['OrderPlacement', 16, 1, 96],
    ['OrderPlacement', 18, 1, 32],
  ] as const)('%s: bytes beyond the end, by the length at %i', (name, place, size, left) => {
    const lengthOf = (bytes: number) => bytes.toString(16).padStart(64, '0');
    expect(decodeLog(withWord(LOGS[name], place, lengthOf(size)))).toEqual(decodeLog(LOGS[name]));
    expect(decodeLog(withWord(LOGS[name], place, lengthOf(left + 1)))).toBeUndefined();
    if (name === 'OrderPlacement') expect(decodeLog(withWord(LOGS[name], place, lengthOf(left)))).toBeDefined();
  });

  test.each(['Trade', 'OrderPlacement'] as const)('%s: an invalid indexed address', (name) => {
    const [topic = '0x'] = LOGS[name].topics;
    expect(decodeLog({ ...LOGS[name], topics: [topic, `0x${FULL}`] })).toBeUndefined();
    expect(decodeLog({ ...LOGS[name], topics: [topic] })).toBeUndefined();
  });

  test.each([55, 57])('for a UID of %i bytes', (size) => {
    const length = size.toString(16).padStart(64, '0');
    expect(decodeLog(withWord(LOGS.Trade, 6, length))).toBeUndefined();
  });

  test('for an offset of up to twelve digits that points nowhere', () => {
    for (const far of [2 ** 32, 2 ** 47]) {
      expect(decodeLog(withWord(LOGS.Trade, 5, far.toString(16).padStart(64, '0')))).toBeUndefined();
    }
  });
});
