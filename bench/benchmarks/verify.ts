import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { instantiateSecp256k1 } from '@bitauth/libauth/build/lib/crypto/secp256k1.js';
import { createKeccak } from 'hash-wasm';
import { createVerifier, type VerifierOptions } from 'intentbook';
import { recoveryPool } from 'intentbook/workers';
import type { CreateBenchmark, Subject } from '../benchmark.ts';
import { divideTimes, measureTime } from '../benchmark.ts';
import { expectCount } from '../checks.ts';
import { DOMAIN, recoverKey, type Signed, signOrders } from '../orders.ts';
import { toTypedData } from '../typed-data.ts';

/**
 * Verification of one signed order: digest, recovery and comparison with the owner; and of many, with and without
 * workers.
 */
export const benchmark: CreateBenchmark = ({ tiny }) => {
  const single = tiny ? 8 : 2048;
  const many = tiny ? 128 : 10_000;

  function fullCheck(options: Pick<VerifierOptions, 'backend'>): () => Promise<Subject> {
    return async () => {
      const orders = await signOrders('verify', 0, single);
      const verifier = await createVerifier({ ...DOMAIN, ...options });
      const check = ({ hashed, owner }: Signed) => verifier.recover(hashed) === owner;
      return { note: verifier.backend, ...createSubject(orders, check) };
    };
  }

  function recoverMany(options: () => Promise<Partial<VerifierOptions>>): () => Promise<Subject> {
    return async () => {
      const signed = await signOrders('verify', 0, many);
      const orders = signed.map(({ hashed }) => hashed);
      const verifier = await createVerifier({ ...DOMAIN, ...(await options()) });
      return {
        round: () =>
          measureTime(many, () => verifier.recoverMany(orders), {
            check(results) {
              const recovered = results.filter(({ signer }, i) => signer === signed[i]?.owner);
              expectCount(many)(recovered.length);
            },
          }),
      };
    };
  }

  return {
    title: 'verification of one signed order: digest, recovery, comparison',
    rounds: 11,
    subjects: {
      'default backend': fullCheck({}),
      native: fullCheck({ backend: 'native' }),
      'recovery only, native': async () => {
        const orders = await signOrders('verify', 0, single);
        return createSubject(orders, (order) => recoverKey(order)[0] === 4);
      },
      'recovery and keccak of 416, 66 and 64 bytes': async () => {
        const orders = await signOrders('verify', 0, single);
        const hasher = await createKeccak(256);
        const inputs = [416, 66, 64].map((length) => new Uint8Array(length).fill(1));
        return createSubject(orders, (order) => {
          for (const input of inputs) hasher.init().update(input).digest('binary');
          return recoverKey(order)[0] === 4;
        });
      },
      wasm: fullCheck({ backend: 'wasm' }),
      'recovery only, WebAssembly': async () => {
        const orders = await signOrders('verify', 0, single);
        const library = await instantiateSecp256k1();
        return createSubject(
          orders,
          ({ digest, rs, recoveryId }) =>
            library.recoverPublicKeyUncompressed(rs, recoveryId === 0 ? 0 : 1, digest)[0] === 4,
        );
      },
      viem: async () => {
        const { recoverTypedDataAddress } = await import('viem');
        const orders = (await signOrders('verify', 0, single)).map((order) => ({
          typed: toTypedData(order),
          signature: order.hashed.signature as `0x${string}`, // created by signOrders
          owner: order.owner,
        }));
        let next = 0;
        return {
          round: () =>
            measureTime(
              1,
              async () => {
                const order = orders[next++ % orders.length];
                if (order === undefined) throw new Error('there are no orders');
                const signer = await recoverTypedDataAddress({ ...order.typed, signature: order.signature });
                return signer.toLowerCase() === order.owner;
              },
              { repetitions: tiny ? 1 : 48, check: assertRecovered },
            ),
        };
      },
      'recoverMany, 1 thread': recoverMany(async () => ({ backend: 'native' })),
      'recoverMany, 2 workers': recoverMany(async () => ({
        pool: await recoveryPool({ threads: 2, backend: 'native' }),
      })),
      'recovery only, 1 thread': recoverInThreads(1, many),
      'recovery only, 2 threads': recoverInThreads(2, many),
    },
    measures: [
      {
        title: 'full check, default backend ÷ recovery only, native',
        compute: divideTimes('default backend', 'recovery only, native'),
        target: { atMost: 0.9 },
        reason: 'The default backend is faster with koffi and libsecp256k1 of the system only.',
      },
      {
        title: 'full check, native ÷ recovery only, native',
        compute: divideTimes('native', 'recovery only, native'),
        target: { atMost: 1.15 },
        reason:
          'The digest needs two keccaks and the address a third one: compare `recovery and keccak of 416, 66 and 64 ' +
          'bytes`.',
      },
      {
        title: 'full check, native ÷ recovery and keccak of 416, 66 and 64 bytes',
        compute: divideTimes('native', 'recovery and keccak of 416, 66 and 64 bytes'),
      },
      { title: 'viem ÷ full check, native', compute: divideTimes('viem', 'native'), target: { atLeast: 25 } },
      {
        title: 'full check, WebAssembly ÷ recovery only, WebAssembly',
        compute: divideTimes('wasm', 'recovery only, WebAssembly'),
        target: { atMost: 1.05 },
        reason: 'As for the native backend: three hashes and the decoding of the signature.',
      },
      {
        title: 'viem ÷ full check, WebAssembly',
        compute: divideTimes('viem', 'wasm'),
        target: { atLeast: 12 },
        reason: 'The recovery in WebAssembly takes more than nine tenths of the check.',
      },
      {
        title: 'recoverMany of 10,000: 1 thread ÷ 2 workers',
        compute: divideTimes('recoverMany, 1 thread', 'recoverMany, 2 workers'),
        target: { atLeast: 1.7 },
      },
      {
        title: 'recovery only, native: 1 thread ÷ 2 threads (baseline)',
        compute: divideTimes('recovery only, 1 thread', 'recovery only, 2 threads'),
      },
      {
        title: 'gain of recoverMany by 2 workers ÷ gain of recovery only by 2 threads',
        compute: (round) =>
          divideTimes('recoverMany, 1 thread', 'recoverMany, 2 workers')(round) /
          divideTimes('recovery only, 1 thread', 'recovery only, 2 threads')(round),
        target: { atLeast: 0.98 },
        reason: 'The calling thread copies signatures and results for the workers, while both cores recover.',
      },
    ],
  };
};

function assertRecovered(recovered: boolean): void {
  if (!recovered) throw new Error('an order was not recovered');
}

/** Creates a subject that checks orders in small batches. */
function createSubject(orders: readonly Signed[], check: (order: Signed) => boolean): Subject {
  const size = Math.min(32, orders.length);
  let next = 0;
  return {
    round: () =>
      measureTime(
        size,
        () => {
          let recovered = 0;
          for (let i = 0; i < size; i++) {
            const order = orders[next++ % orders.length];
            if (order !== undefined && check(order)) recovered++;
          }
          return recovered;
        },
        { repetitions: orders.length / size, check: expectCount(size) },
      ),
  };
}

/** Creates a subject that only recovers keys, in threads that exchange a start and an end message. */
function recoverInThreads(count: number, signatures: number): () => Promise<Subject> {
  return async () => {
    const threads = Array.from({ length: count }, () => new Worker(THREAD_CODE, { eval: true }));
    const run = async (share: number) => {
      const recovered = await Promise.all(
        threads.map(async (thread) => {
          thread.postMessage(share);
          const [keys] = (await once(thread, 'message')) as [number]; // as THREAD_CODE sends it
          return keys;
        }),
      );
      return recovered.reduce((sum, keys) => sum + keys, 0);
    };
    await run(0);
    return {
      round: () => measureTime(signatures, () => run(signatures / count), { check: expectCount(signatures) }),
      async close() {
        await Promise.all(threads.map((thread) => thread.terminate()));
      },
    };
  };
}

const THREAD_CODE = `
  const { parentPort } = require('node:worker_threads');
  const bindings = require('secp256k1/bindings.js');
  const digest = new Uint8Array(32).fill(9);
  const { signature, recid } = bindings.ecdsaSign(digest, new Uint8Array(32).fill(7));
  parentPort.on('message', (count) => {
    let recovered = 0;
    for (let i = 0; i < count; i++) if (bindings.ecdsaRecover(signature, recid, digest, false)[0] === 4) recovered++;
    parentPort.postMessage(recovered);
  });
`;
