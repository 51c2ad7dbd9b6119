import fc from 'fast-check';
import type { Abi, AbiEvent } from 'viem';
import { encodeAbiParameters, encodeEventTopics, getAddress, parseAbi, toEventSelector } from 'viem';
import { describe, expect, test } from 'vitest';
import type { ChainLog, ProtocolEvent } from '../../../src/protocol/chain-events.ts';
import { decodeLog, EVENT_TOPICS } from '../../../src/protocol/chain-events.ts';
import type { Address, Hex } from '../../../src/protocol/hex.ts';

/** The events as their contracts declare them (GPv2Settlement.sol, GPv2Signing.sol, CoWSwapOnchainOrders.sol). */
const ABI = parseAbi([
  'event Trade(address indexed owner, address sellToken, address buyToken, uint256 sellAmount, uint256 buyAmount, uint256 feeAmount, bytes orderUid)',
  'event Settlement(address indexed solver)',
  'event OrderInvalidated(address indexed owner, bytes orderUid)',
  'event PreSignature(address indexed owner, bytes orderUid, bool signed)',
  'struct Order { address sellToken; address buyToken; address receiver; uint256 sellAmount; uint256 buyAmount; uint32 validTo; bytes32 appData; uint256 feeAmount; bytes32 kind; bool partiallyFillable; bytes32 sellTokenBalance; bytes32 buyTokenBalance; }',
  'struct Signature { uint8 scheme; bytes data; }',
  'event OrderPlacement(address indexed sender, Order order, Signature signature, bytes data)',
  'event OrderInvalidation(bytes orderUid)',
  'event OrderRefund(bytes orderUid, address indexed refunder)',
]);

const hex = (bytes: number): fc.Arbitrary<Hex> =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((value): Hex => `0x${Buffer.from(value).toString('hex')}`);
const someHex = fc.uint8Array({ maxLength: 100 }).map((value): Hex => `0x${Buffer.from(value).toString('hex')}`);
const address = hex(20);
const amount = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
const uid = hex(56);

const order = fc.record({
  ...{ sellToken: address, buyToken: address, receiver: address, sellAmount: amount, buyAmount: amount },
  ...{ validTo: fc.nat(0xffff_ffff), appData: hex(32), feeAmount: amount, kind: hex(32) },
  ...{ partiallyFillable: fc.boolean(), sellTokenBalance: hex(32), buyTokenBalance: hex(32) },
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
    ...{ owner: address, sellToken: address, buyToken: address },
    ...{ sellAmount: amount, buyAmount: amount, feeAmount: amount, orderUid: uid },
  }),
  Settlement: fc.record({ solver: address }),
  OrderInvalidated: fc.record({ owner: address, orderUid: uid }),
  PreSignature: fc.record({ owner: address, orderUid: uid, signed: fc.boolean() }),
  OrderPlacement: fc.record({
    ...{ sender: address, order, data: someHex },
    signature: fc.record({ scheme: fc.nat(255), data: someHex }),
  }),
  OrderInvalidation: fc.record({ orderUid: uid }),
  OrderRefund: fc.record({ orderUid: uid, refunder: address }),
};
const NAMES = Object.keys(events) as ProtocolEvent['event'][];
const OF_PLACERS = ['OrderPlacement', 'OrderInvalidation', 'OrderRefund'];

function logOf(name: string, args: object): ChainLog {
  const abi = (ABI as Abi).find((item): item is AbiEvent => item.type === 'event' && item.name === name);
  if (abi === undefined) throw new Error(`there is no event ${name}`);
  const inputs = abi.inputs.filter(({ indexed }) => indexed !== true);
  return {
    ...PLACE,
    address: CONTRACT,
    topics: encodeEventTopics({ abi: ABI as Abi, eventName: name, args: spelled(args) as never }) as Hex[],
    data: encodeAbiParameters(inputs, inputs.map(({ name: input }) => args[input as keyof typeof args]) as never),
  };
}

/** viem wants addresses of topics in their checksum. */
function spelled(args: object): object {
  const isAddress = (value: unknown): value is Hex => typeof value === 'string' && value.length === 42;
  return Object.fromEntries(
    Object.entries(args).map(([key, value]) => [key, isAddress(value) ? getAddress(value) : value]),
  );
}

describe('logs are decoded as an independent encoder wrote them', () => {
  test.each(NAMES)('%s', (name) => {
    expect(EVENT_TOPICS[name]).toBe(
      toEventSelector(
        (ABI as Abi).find((item): item is AbiEvent => item.type === 'event' && item.name === name) as AbiEvent,
      ),
    );
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

test('whatever else a log holds is no event, and no fault', () => {
  const topic = fc.oneof(fc.constantFrom(...Object.values(EVENT_TOPICS)), hex(32));
  const log = fc.record({ topics: fc.array(topic, { maxLength: 4 }), data: fc.uint8Array({ maxLength: 700 }) });
  fc.assert(
    fc.property(log, ({ topics, data }) => {
      decodeLog({ ...PLACE, address: CONTRACT, topics, data: `0x${Buffer.from(data).toString('hex')}` });
    }),
    { numRuns: 1000 },
  );
});

test('a log that is cut off anywhere is no event', () => {
  for (const name of NAMES) {
    const [args] = fc.sample(events[name], { numRuns: 1, seed: 1 });
    const log = logOf(name, args ?? {});
    for (let end = 2; end < log.data.length - 64; end += 2) {
      expect(decodeLog({ ...log, data: log.data.slice(0, end) as Hex })).toBeUndefined();
    }
  }
});
