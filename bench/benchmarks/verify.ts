import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { instantiateSecp256k1 } from '@bitauth/libauth/build/lib/crypto/secp256k1.js';
import { createVerifier, type VerifierOptions } from 'intentbook';
import { recoveryPool } from 'intentbook/workers';
import bindings from 'secp256k1/bindings.js';
import type { MakeTrial, Subject } from '../benchmark.ts';
import { timed, times } from '../benchmark.ts';
import { DOMAIN, type Signed, signOrders } from '../orders.ts';
import { typedData } from '../typed-data.ts';

/** One signed order: digest, recovery, comparison with the owner. And many of them, on one thread and on two. */
export const trial: MakeTrial = ({ tiny }) => {
  const usual = tiny ? 8 : 2048;
  const many = tiny ? 128 : 10_000;

  function fullCheck(backend: 'native' | 'wasm'): () => Promise<Subject> {
    return async () => {
      const orders = await signOrders('verify', 0, usual);
      const verifier = await createVerifier({ ...DOMAIN, backend });
      return { note: verifier.backend, ...pieces(orders, ({ hashed, owner }) => verifier.recover(hashed) === owner) };
    };
  }

  function recoverMany(options: () => Promise<Partial<VerifierOptions>>): () => Promise<Subject> {
    return async () => {
      const orders = (await signOrders('verify', 0, many)).map(({ hashed }) => hashed);
      const verifier = await createVerifier({ ...DOMAIN, ...(await options()) });
      return {
        round: () =>
          timed(many, async () => {
            const answers = await verifier.recoverMany(orders);
            if (answers.some(({ error }) => error !== undefined)) throw new Error('an order was not recovered');
          }),
      };
    };
  }

  return {
    title: 'verify one signed order: digest, recover, compare',
    rounds: 11,
    subjects: {
      native: fullCheck('native'),
      'raw native recovery': async () => {
        const orders = await signOrders('verify', 0, usual);
        return pieces(
          orders,
          ({ digest, rs, recoveryId }) => bindings.ecdsaRecover(rs, recoveryId, digest, false)[0] === 4,
        );
      },
      wasm: fullCheck('wasm'),
      'raw WebAssembly recovery': async () => {
        const orders = await signOrders('verify', 0, usual);
        const library = await instantiateSecp256k1();
        return pieces(
          orders,
          ({ digest, rs, recoveryId }) =>
            library.recoverPublicKeyUncompressed(rs, recoveryId === 0 ? 0 : 1, digest)[0] === 4,
        );
      },
      viem: async () => {
        const { recoverTypedDataAddress } = await import('viem');
        const orders = (await signOrders('verify', 0, usual)).map((order) => ({
          typed: typedData(order),
          signature: order.hashed.signature as `0x${string}`,
          owner: order.owner, // signed
        }));
        let next = 0;
        return {
          round: () =>
            timed(
              1,
              async () => {
                const order = orders[next++ % orders.length];
                if (order === undefined) throw new Error('there are no orders');
                const signer = await recoverTypedDataAddress({ ...order.typed, signature: order.signature });
                if (signer.toLowerCase() !== order.owner) throw new Error('an order was not recovered');
              },
              { pieces: tiny ? 1 : 48 },
            ),
        };
      },
      'recoverMany, one thread': recoverMany(async () => ({})),
      'recoverMany, 2 workers': recoverMany(async () => ({ pool: await recoveryPool({ threads: 2 }) })),
      'raw recovery, one thread': rawThreads(1, many),
      'raw recovery, 2 threads': rawThreads(2, many),
    },
    measures: [
      {
        title: 'full check, native ÷ raw native recovery',
        of: times('native', 'raw native recovery'),
        bar: { atMost: 1.3 },
      },
      { title: 'viem ÷ full check, native', of: times('viem', 'native'), bar: { atLeast: 25 } },
      {
        title: 'full check, WebAssembly ÷ raw WebAssembly recovery',
        of: times('wasm', 'raw WebAssembly recovery'),
        bar: { atMost: 1.25 },
      },
      { title: 'viem ÷ full check, WebAssembly', of: times('viem', 'wasm'), bar: { atLeast: 12 } },
      {
        title: 'recoverMany of 10,000: one thread ÷ 2 workers',
        of: times('recoverMany, one thread', 'recoverMany, 2 workers'),
        bar: { atLeast: 1.7 },
      },
      {
        title: 'the same of raw native recovery: what the machine gives',
        of: times('raw recovery, one thread', 'raw recovery, 2 threads'),
      },
    ],
  };
};

/** A subject that judges orders, a few at a time. */
function pieces(orders: readonly Signed[], judge: (order: Signed) => boolean): Subject {
  const size = Math.min(32, orders.length);
  let next = 0;
  return {
    round: () =>
      timed(
        size,
        () => {
          for (let i = 0; i < size; i++) {
            const order = orders[next++ % orders.length];
            if (order === undefined || !judge(order)) throw new Error('an order was not recovered');
          }
        },
        { pieces: orders.length / size },
      ),
  };
}

/** Recoveries and nothing else, shared among threads that exchange no more than a start and an end. */
function rawThreads(count: number, signatures: number): () => Promise<Subject> {
  return async () => {
    const threads = Array.from({ length: count }, () => new Worker(RAW_THREAD, { eval: true }));
    const run = async (share: number) => {
      await Promise.all(
        threads.map(async (thread) => {
          thread.postMessage(share);
          await once(thread, 'message');
        }),
      );
    };
    await run(0);
    return {
      round: () => timed(signatures, () => run(signatures / count)),
      async close() {
        await Promise.all(threads.map((thread) => thread.terminate()));
      },
    };
  };
}

const RAW_THREAD = `
  const { parentPort } = require('node:worker_threads');
  const bindings = require('secp256k1/bindings.js');
  const digest = new Uint8Array(32).fill(9);
  const { signature, recid } = bindings.ecdsaSign(digest, new Uint8Array(32).fill(7));
  parentPort.on('message', (count) => {
    for (let i = 0; i < count; i++) bindings.ecdsaRecover(signature, recid, digest, false);
    parentPort.postMessage('done');
  });
`;
