import { createKeccak } from 'hash-wasm';
import { createVerifier, type Hex } from 'intentbook';
import { ORDER_TYPES } from '../../test/support/orders.ts';
import type { CreateBenchmark } from '../benchmark.ts';
import { divideTimes, measureTime } from '../benchmark.ts';
import { expectCount } from '../checks.ts';
import { DOMAIN, type Signed, signOrders } from '../orders.ts';
import { toTypedData } from '../typed-data.ts';

/** The EIP-712 digest of an order, compared with the two hashes that it consists of. */
export const benchmark: CreateBenchmark = ({ tiny }) => {
  const count = tiny ? 4 : 256;
  const repetitions = tiny ? 1 : 50;

  return {
    title: 'order digest',
    subjects: {
      intentbook: async () => {
        const { hasher } = await createVerifier(DOMAIN);
        const signed = await signOrders('digest', 0, count);
        const orders = signed.map((order) => ({ ...toTypedData(order).message, receiver: null }));
        return {
          round: () =>
            measureTime(
              count,
              () => {
                let last: Uint8Array | undefined;
                for (const order of orders) last = hasher.digest(order);
                return last;
              },
              { repetitions, check: (last) => checkDigest(last, signed.at(-1)) },
            ),
        };
      },
      'keccak of 416 and 66 bytes': async () => {
        const hasher = await createKeccak(256);
        const [struct, message] = [new Uint8Array(416).fill(1), new Uint8Array(66).fill(2)];
        return {
          round: () =>
            measureTime(
              count,
              () => {
                let last: Uint8Array | undefined;
                for (let i = 0; i < count; i++) {
                  hasher.init().update(struct).digest('binary');
                  last = hasher.init().update(message).digest('binary');
                }
                return last;
              },
              { repetitions, check: (last) => expectCount(32)(last?.length ?? 0) },
            ),
        };
      },
      'keccak and decoding by Buffer.write': async () => {
        const signed = await signOrders('digest', 0, count);
        const orders = signed.map((order) => toTypedData(order).message);
        const digest = await createSimpleHasher();
        return {
          round: () =>
            measureTime(
              count,
              () => {
                let last: Uint8Array | undefined;
                for (const order of orders) last = digest(order);
                return last;
              },
              { repetitions, check: (last) => checkDigest(last, signed.at(-1)) },
            ),
        };
      },
      viem: async () => {
        const { hashTypedData } = await import('viem');
        const signed = await signOrders('digest', 0, Math.min(8, count));
        const batch = signed.map(toTypedData);
        return {
          round: () =>
            measureTime(
              batch.length,
              () => {
                let last: Hex | undefined;
                for (const order of batch) last = hashTypedData(order);
                return last;
              },
              { repetitions, check: (last = '0x') => checkDigest(Buffer.from(last.slice(2), 'hex'), signed.at(-1)) },
            ),
        };
      },
    },
    measures: [
      {
        title: 'order digest ÷ keccak of 416 and 66 bytes',
        compute: divideTimes('intentbook', 'keccak of 416 and 66 bytes'),
        target: { atMost: 1.25 },
        reason:
          'Decoding of hex text and of amounts into the 416 bytes that are hashed. Decoding by functions of the runtime ' +
          'takes longer: compare `keccak and decoding by Buffer.write`.',
      },
      {
        title: 'order digest ÷ keccak and decoding by Buffer.write',
        compute: divideTimes('intentbook', 'keccak and decoding by Buffer.write'),
      },
      { title: 'viem ÷ order digest', compute: divideTimes('viem', 'intentbook') },
    ],
  };
};

function checkDigest(digest: Uint8Array | undefined, signed: Signed | undefined): void {
  if (signed === undefined || digest === undefined || Buffer.compare(digest, signed.digest) !== 0)
    throw new Error('the digest of an order is wrong');
}

type Message = ReturnType<typeof toTypedData>['message'];

/** Creates a hasher that decodes the fields of an order by functions of Node.js. Its other words are constant. */
async function createSimpleHasher(): Promise<(order: Message) => Buffer> {
  const [hasher, { hasher: own }] = await Promise.all([createKeccak(256), createVerifier(DOMAIN)]);
  const hash = (data: string | Buffer) => hasher.init().update(data).digest('binary');
  const fields = ORDER_TYPES.Order.map(({ type, name }) => `${type} ${name}`);
  const [struct, message] = [Buffer.alloc(13 * 32), Buffer.alloc(66)];
  struct.set(hash(`Order(${fields})`), 0);
  for (const [word, name] of [
    [9, 'sell'],
    [11, 'erc20'],
    [12, 'erc20'],
  ] as const)
    struct.set(hash(name), 32 * word);
  message.write('1901', 'hex');
  message.set(own.separator, 2);
  const writeHex = (text: string, end: number) => struct.write(text.slice(2), end - (text.length - 2) / 2, 'hex');
  const writeAmount = (amount: bigint, word: number) =>
    struct.write(amount.toString(16).padStart(64, '0'), 32 * word, 'hex');
  return ({ sellToken, buyToken, sellAmount, buyAmount, validTo, appData, partiallyFillable }) => {
    writeHex(sellToken, 2 * 32);
    writeHex(buyToken, 3 * 32);
    writeAmount(sellAmount, 4);
    writeAmount(buyAmount, 5);
    struct.writeUInt32BE(validTo, 6 * 32 + 28);
    writeHex(appData, 8 * 32);
    struct[10 * 32 + 31] = partiallyFillable ? 1 : 0;
    message.set(hash(struct), 34);
    return Buffer.from(hash(message));
  };
}
