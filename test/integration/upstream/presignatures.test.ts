import type { Hex } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { scriptedChain } from '../../support/scripted-chain.ts';
import { world } from './worlds.ts';

/** A book that reads a chain, and a presign order. `sign`: a signature of its owner, or its revocation. */
async function presigned() {
  const chain = scriptedChain();
  chain.mine([], []);
  const here = await world({ indexer: { sources: [chain.node('node')], fromBlock: 101, pollInterval: 1000 } });
  await here.pass(310_000, 10_000); // the order is newer than what this book has read of the chain
  const order = { ...(await here.order()), signingScheme: 'presign', signature: '0x' } as const;
  const { uid } = (await here.book.orders.submit(order as never)) as { uid: Hex };
  const sign = (signed: boolean) =>
    ({ event: 'PreSignature', owner: here.alice.address.toLowerCase(), orderUid: uid, signed }) as never;
  return { here, chain, uid, sign, read: async () => [await here.status(uid), ...(await here.log(uid))] };
}

describe('a presign order', () => {
  test('scenario 28: waits for its presignature, which is taken from the other book without a chain', async () => {
    const here = await world();
    const order = { ...(await here.order()), signingScheme: 'presign', signature: '0x' } as const;
    const { uid } = (await here.book.orders.submit(order as never)) as { uid: Hex };
    expect(await here.status(uid)).toBe('presignaturePending');
    await here.tell(here.other, 1, [
      { event: 'PreSignature', owner: here.alice.address.toLowerCase(), orderUid: uid, signed: true } as never,
    ]);
    await here.pass(60_000);
    expect(await here.status(uid)).toBe('open');
    expect(await here.log(uid)).toEqual(['created', 'presigned']);
  });

  test('scenario 28: is not open by a signature of a block that only the other book has read', async () => {
    const { here, chain, uid, sign, read } = await presigned();
    await here.tell(here.other, 1, [sign(true)]);
    await here.book.upstream?.refresh(uid);
    await here.pass(300_000, 10_000);
    expect(await read()).toEqual(['presignaturePending', 'created']);
    await here.other.chain.rollback(0);
    await here.pass(300_000, 10_000);
    chain.mine([sign(true)]);
    await here.pass(5000);
    expect(await read()).toEqual(['open', 'created', 'presigned']);
  });

  // The other book has read none of the changes, or all but the last one, and stays behind.
  test.each([
    [[true, false, true], 'open', ['presigned', 'presignatureRevoked', 'presigned']],
    [[true, false], 'presignaturePending', ['presigned', 'presignatureRevoked']],
    [[true, true, false, false], 'presignaturePending', ['presigned', 'presignatureRevoked']],
    [[false, true], 'open', ['presigned']],
  ] as const)(
    'scenario 28: that is signed in one block with %j is %s, also while reads lag',
    async (signs, status, log) => {
      for (const isNear of [false, true]) {
        const { here, chain, sign, read } = await presigned();
        if (isNear) await here.tell(here.other, 1, signs.slice(0, -1).map(sign));
        chain.mine(signs.map(sign));
        await here.pass(5000);
        expect([isNear, ...(await read())]).toEqual([isNear, status, 'created', ...log]);
        await here.pass(600_000, 5000);
        expect([isNear, ...(await read())]).toEqual([isNear, status, 'created', ...log]);
      }
    },
  );

  test('scenario 28: whose signature is revoked waits for it, while reads show it as open', async () => {
    const { here, chain, sign, read } = await presigned();
    chain.mine([sign(true)]);
    await here.tell(here.other, 1, [sign(true)]);
    await here.pass(60_000);
    expect(await read()).toEqual(['open', 'created', 'presigned']);
    chain.mine([sign(false)]);
    await here.pass(5000);
    const revoked = ['presignaturePending', 'created', 'presigned', 'presignatureRevoked'];
    expect(await read()).toEqual(revoked);
    await here.pass(600_000, 5000);
    expect(await read()).toEqual(revoked);
  });
});
