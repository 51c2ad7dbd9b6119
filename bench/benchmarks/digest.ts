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
        reason: 'Decoding of hex text and of decimal amounts into the 416 bytes that are hashed.',
      },
      { title: 'viem ÷ order digest', compute: divideTimes('viem', 'intentbook') },
    ],
  };
};
