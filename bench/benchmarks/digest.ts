import { createKeccak } from 'hash-wasm';
import { createVerifier } from 'intentbook';
import type { CreateBenchmark } from '../benchmark.ts';
import { divideTimes, measureTime } from '../benchmark.ts';
import { DOMAIN, signOrders } from '../orders.ts';
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
        const orders = (await signOrders('digest', 0, count)).map((order) => ({
          ...toTypedData(order).message,
          receiver: null,
        }));
        return {
          round: () =>
            measureTime(
              count,
              () => {
                for (const order of orders) hasher.digest(order);
              },
              { repetitions },
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
                for (let i = 0; i < count; i++) {
                  hasher.init().update(struct).digest('binary');
                  hasher.init().update(message).digest('binary');
                }
              },
              { repetitions },
            ),
        };
      },
      'keccak and decoding by Buffer.write': async () => {
        const orders = (await signOrders('digest', 0, count)).map((order) => toTypedData(order).message);
        const hasher = await createKeccak(256);
        const [struct, message] = [Buffer.alloc(416), Buffer.alloc(66)];
        const writeHex = (word: number, text: string) => struct.write(text.slice(2), 32 * word, 'hex');
        const writeAmount = (word: number, amount: bigint) =>
          struct.write(amount.toString(16).padStart(64, '0'), 32 * word, 'hex');
        return {
          round: () =>
            measureTime(
              count,
              () => {
                for (const { sellToken, buyToken, sellAmount, buyAmount, validTo, appData } of orders) {
                  writeHex(1, sellToken);
                  writeHex(2, buyToken);
                  writeAmount(4, sellAmount);
                  writeAmount(5, buyAmount);
                  struct.writeUInt32BE(validTo, 220);
                  writeHex(7, appData);
                  message.set(hasher.init().update(struct).digest('binary'), 34);
                  hasher.init().update(message).digest('binary');
                }
              },
              { repetitions },
            ),
        };
      },
      viem: async () => {
        const { hashTypedData } = await import('viem');
        const orders = (await signOrders('digest', 0, count)).map(toTypedData);
        const batch = orders.slice(0, 8);
        return {
          round: () =>
            measureTime(
              batch.length,
              () => {
                for (const order of batch) hashTypedData(order);
              },
              { repetitions },
            ),
        };
      },
    },
    measures: [
      {
        title: 'order digest ÷ keccak of 416 and 66 bytes',
        compute: divideTimes('intentbook', 'keccak of 416 and 66 bytes'),
        limit: { atMost: 1.25 },
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
