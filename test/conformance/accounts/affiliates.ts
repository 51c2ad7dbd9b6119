import assert from 'node:assert/strict';
import type { NewAffiliate } from 'intentbook';
import { address, range, word } from '../orders.ts';
import type { AccountRule } from './harness.ts';
import { AT } from './harness.ts';

/** Returns the suite's n-th registration, with its own wallet, code, digest and signature. */
function affiliate(n: number, changes: Partial<NewAffiliate> = {}): NewAffiliate {
  return {
    walletAddress: address(n),
    code: `CODE-${n}`,
    createdAt: AT + n,
    digest: word(1_000 + n),
    signedMessage: `0x${'ab'.repeat(60)}${String(n).padStart(10, '0')}`,
    ...changes,
  };
}

export const AFFILIATES: readonly AccountRule[] = [
  {
    name: 'binds a code to a wallet and finds it by either',
    async run({ store }) {
      assert.equal(await store.affiliates.byWallet(address(1)), undefined);
      assert.equal(await store.affiliates.byCode('CODE-1'), undefined);
      assert.deepEqual(await store.affiliates.register(affiliate(1)), { status: 'registered' });
      const expected = { walletAddress: address(1), code: 'CODE-1', createdAt: AT + 1 };
      assert.deepEqual(await store.affiliates.byWallet(address(1)), expected);
      assert.deepEqual(await store.affiliates.byCode('CODE-1'), expected);
      assert.equal(await store.affiliates.byCode('code-1'), undefined);
    },
  },
  {
    name: 'reports a bound wallet before a used signature, and a used signature before a taken code',
    async run({ store }) {
      await store.affiliates.register(affiliate(1));
      const { code, digest, signedMessage } = affiliate(1);
      for (const [changes, status] of [
        [{ walletAddress: address(1) }, 'bound'],
        [{ walletAddress: address(1), digest, signedMessage, code }, 'bound'],
        [{ digest }, 'used'],
        [{ signedMessage }, 'used'],
        [{ digest, code }, 'used'],
        [{ code }, 'taken'],
      ] as const) {
        assert.deepEqual(await store.affiliates.register(affiliate(2, changes)), { status }, JSON.stringify(changes));
      }
      assert.equal(await store.affiliates.byWallet(address(2)), undefined);
      assert.deepEqual(await store.affiliates.register(affiliate(2)), { status: 'registered' });
    },
  },
  {
    name: 'lets exactly one of several concurrent calls bind a code, a wallet or a signature',
    async run({ writers }) {
      const shared: ((n: number) => NewAffiliate)[] = [
        (n) => affiliate(n, { code: 'RACED' }),
        (n) => affiliate(100 + n, { walletAddress: address(100) }),
        (n) => affiliate(200 + n, { digest: word(7) }),
        (n) => affiliate(300 + n, { signedMessage: '0xabcd' }),
      ];
      for (const racer of shared) {
        const outcomes = await Promise.all(
          range(12).map((n) => writers[n % writers.length]?.affiliates.register(racer(n + 1))),
        );
        assert.equal(outcomes.filter((outcome) => outcome?.status === 'registered').length, 1);
      }
    },
  },
  {
    name: 'keeps codes after the store is closed and reopened',
    skip: ({ durable }) => (durable ? undefined : 'traits.durable is false'),
    async run({ store, open }) {
      await store.affiliates.register(affiliate(1));
      await store.close();
      const again = await open();
      assert.equal((await again.affiliates.byCode('CODE-1'))?.walletAddress, address(1));
      const { digest } = affiliate(1);
      assert.deepEqual(await again.affiliates.register(affiliate(2, { digest })), { status: 'used' });
    },
  },
];
