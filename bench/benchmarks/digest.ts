import { createKeccak } from 'hash-wasm';
import { createVerifier } from 'intentbook';
import type { MakeTrial } from '../benchmark.ts';
import { timed, times } from '../benchmark.ts';
import { DOMAIN, signOrders } from '../orders.ts';
import { typedData } from '../typed-data.ts';

/** The EIP-712 digest of an order, against the two hashes that it is made of. */
export const trial: MakeTrial = ({ tiny }) => {
  const count = tiny ? 4 : 256;
  const pieces = tiny ? 1 : 50;

  return {
    title: 'order digest',
    subjects: {
      intentbook: async () => {
        const { hasher } = await createVerifier(DOMAIN);
        const orders = (await signOrders('digest', 0, count)).map((order) => ({
          ...typedData(order).message,
          receiver: null,
        }));
        return {
          round: () =>
            timed(
              count,
              () => {
                for (const order of orders) hasher.digest(order);
              },
              { pieces },
            ),
        };
      },
      'keccak of 416 and of 66 bytes': async () => {
        const hasher = await createKeccak(256);
        const [struct, message] = [new Uint8Array(416).fill(1), new Uint8Array(66).fill(2)];
        return {
          round: () =>
            timed(
              count,
              () => {
                for (let i = 0; i < count; i++) {
                  hasher.init().update(struct).digest('binary');
                  hasher.init().update(message).digest('binary');
                }
              },
              { pieces },
            ),
        };
      },
      viem: async () => {
        const { hashTypedData } = await import('viem');
        const orders = (await signOrders('digest', 0, count)).map(typedData);
        const few = orders.slice(0, 8);
        return {
          round: () =>
            timed(
              few.length,
              () => {
                for (const order of few) hashTypedData(order);
              },
              { pieces },
            ),
        };
      },
    },
    measures: [
      {
        title: 'order digest ÷ keccak of 416 and of 66 bytes',
        of: times('intentbook', 'keccak of 416 and of 66 bytes'),
        bar: { atMost: 1.3 },
      },
      { title: 'viem ÷ order digest', of: times('viem', 'intentbook') },
    ],
  };
};
