import type { Hex } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { appDataHash } from 'intentbook/sign';
import { describe, expect, test } from 'vitest';
import { tradeOf } from '../../support/chain-events.ts';
import { settle } from '../../support/upstream/world.ts';
import { findElsewhere, type World, world } from './worlds.ts';

const accepted = (result: { status: string; uid?: Hex; existing?: boolean; error?: unknown }): Hex => {
  expect(result).toMatchObject({ status: 'accepted' });
  return result.uid as Hex;
};

/** Fills an order at the other book. */
async function fillElsewhere(here: World, uid: Hex): Promise<void> {
  const order = await findElsewhere(here, uid);
  await here.tell(here.other, 1, [tradeOf(order, BigInt(order.sellAmount), BigInt(order.buyAmount))]);
}

/** A rejection that may pass. */
const REJECTED = { status: 'rejected', code: 'InsufficientBalance', description: 'too low', httpStatus: 400 } as const;

const replacing = (uid: Hex) => JSON.stringify({ version: '1.1.0', metadata: { replacedOrder: { uid } } });

describe('a relayed order', () => {
  test('is stored here when the other book has it, with the same UID', async () => {
    const { book, other, order, upstream, log } = await world();
    const uid = accepted(await book.orders.submit(await order()));
    expect(await other.orders.get(uid)).toMatchObject({ uid, status: 'open' });
    expect(await book.orders.get(uid)).toMatchObject({ uid, status: 'open' });
    expect(upstream.calls.submitOrder).toBe(1);
    expect(await log(uid)).toEqual(['created']);
  });

  test('that is invalid here is not sent', async () => {
    const { book, order, upstream } = await world();
    const result = await book.orders.submit({ ...(await order()), signature: `0x${'11'.repeat(65)}` });
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'InvalidSignature' } });
    expect(upstream.calls.submitOrder).toBe(0);
  });

  test('that the other book rejects is not stored, and the rejection is passed on', async () => {
    const { book, order } = await world(
      {},
      { other: { deniedTokens: ['0x0625afb445c3b6b7b929342a04a22599fd5dbb59'] } },
    );
    const result = await book.orders.submit(await order());
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'UnsupportedToken' } });
    expect((await book.orders.list({})).orders).toEqual([]);
  });

  test('scenario 1: whose answer is lost is unknown, and is found by its UID', async () => {
    const { book, order, upstream, pass, status, log } = await world();
    upstream.faults.push('lost');
    const result = await book.orders.submit(await order());
    expect(result).toMatchObject({ status: 'unknown', error: { code: 'OutcomeUnknown' } });
    const { uid } = result as { uid: Hex };
    expect(await status(uid)).toBeUndefined();
    expect(await book.upstream?.order(uid)).toMatchObject({ relay: { state: 'unknown', sent: 1 } });
    await pass(3000);
    expect(await status(uid)).toBe('open');
    expect(await log(uid)).toEqual(['created']);
    expect(upstream.calls.submitOrder).toBe(1);
  });

  test('scenario 2: that was filled before its answer arrived is not called rejected', async () => {
    const here = await world();
    const { book, order, upstream, pass, status } = here;
    upstream.faults.push('lost');
    const created = await order();
    const { uid } = (await book.orders.submit(created)) as { uid: Hex };
    await fillElsewhere(here, uid);
    await pass(120_000, 5000);
    await expect.poll(() => status(uid)).toBe('fulfilled');
    expect(upstream.calls.submitOrder).toBe(1);
  });

  test('scenario 2: that is repeated by its client after the fill is found, and is not called rejected', async () => {
    const here = await world();
    const { book, order, upstream, pass, status } = here;
    await upstream.freeze();
    upstream.faults.push('lost');
    const created = await order();
    const { uid } = (await book.orders.submit(created)) as { uid: Hex };
    await fillElsewhere(here, uid);
    // The owner has sold what the order would sell: a repeat would be rejected.
    upstream.submitOrder = async () => ({ ...REJECTED, status: 'rejected' });
    expect(await book.orders.submit(created)).toMatchObject({ status: 'unknown', error: { code: 'OutcomeUnknown' } });
    await upstream.freeze(false);
    await pass(120_000, 5000);
    await expect.poll(() => status(uid)).toBe('fulfilled');
    expect(await book.orders.submit(created)).toMatchObject({ error: { code: 'DuplicatedOrder' } });
  });

  test('scenario 2: whose repeat is rejected while reads lag is stored when a read shows it', async () => {
    const { book, order, upstream, pass, status } = await world();
    const { submitOrder } = upstream;
    await upstream.freeze();
    upstream.faults.push('lost');
    const { uid } = (await book.orders.submit(await order())) as { uid: Hex };
    const rejection = { code: 'InsufficientBalance', description: 'the balance is too low', httpStatus: 400 };
    await pass(1000);
    upstream.submitOrder = async () => ({ status: 'rejected', ...rejection });
    await pass(300_000);
    expect(await book.upstream?.order(uid)).toMatchObject({ relay: { state: 'rejected' } });
    upstream.submitOrder = submitOrder;
    await upstream.freeze(false);
    const getStatus = () => pass(60_000).then(() => status(uid));
    await expect.poll(getStatus, { timeout: 10_000 }).toBe('open');
  });

  test('scenario 3: that others have posted exists, and one that has ended is rejected with the reason', async () => {
    const { book, other, order, cancellation, status } = await world();
    const known = await order();
    const uid = accepted(await other.orders.submit(known as never));
    expect(await book.orders.submit(known as never)).toEqual({ status: 'accepted', uid, existing: true });
    expect(await status(uid)).toBe('open');
    const ended = await order();
    const endedUid = accepted(await other.orders.submit(ended as never));
    await other.orders.cancel(await cancellation([endedUid]));
    const result = await book.orders.submit(ended as never);
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'DuplicatedOrder' } });
    expect((result as { error: Error }).error.message).toMatch(/cancelled/);
  });

  test('scenario 4: stays accepted while a replica does not have it', async () => {
    const { book, order, upstream, pass, status, log } = await world();
    await upstream.freeze();
    const uid = accepted(await book.orders.submit(await order()));
    await pass(60_000, 5000);
    expect(await status(uid)).toBe('open');
    expect(await log(uid)).toEqual(['created']);
    expect(upstream.calls.submitOrder).toBe(1);
  });

  test('scenario 9: a replacement whose answer is lost replaces once', async () => {
    const { book, order, upstream, pass, status, log } = await world();
    const old = accepted(await book.orders.submit(await order()));
    upstream.faults.push('lost');
    const { uid } = (await book.orders.submit(await order({ appData: replacing(old) }))) as { uid: Hex };
    await pass(10_000);
    expect([await status(old), await status(uid)]).toEqual(['cancelled', 'open']);
    expect([await log(old), await log(uid)]).toEqual([['created', 'cancelled'], ['created']]);
  });

  test('scenario 10: a replacement during bidding leaves the old order open', async () => {
    const { book, order, status } = await world({}, { other: { isActivelyBidOn: () => true } });
    const old = accepted(await book.orders.submit(await order()));
    const result = await book.orders.submit(await order({ appData: replacing(old) }));
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'OldOrderActivelyBidOn' } });
    expect(await status(old)).toBe('open');
  });

  test('scenario 11: with the hash of a document that this book knows carries the document', async () => {
    const { book, other, order } = await world();
    const document = JSON.stringify({ version: '1.1.0', appCode: 'a test', metadata: {} });
    const put = await book.appData.put(document);
    const { hash } = put as { hash: Hex };
    const uid = accepted(await book.orders.submit(await order({ appData: hash, appDataIsHash: true } as never)));
    expect(await other.orders.get(uid)).toMatchObject({ appData: hash, fullAppData: document });
  });

  test('scenario 11: whose document and signature are too large for one request sends the document first', async () => {
    const unverified = { eip1271: 'accept-unverified', limits: { maxAppDataSize: 8192 } } as const;
    const { book, other, order, upstream } = await world(unverified, { other: unverified });
    const bodies: Record<string, unknown>[] = [];
    const { submitOrder } = upstream;
    upstream.submitOrder = (body) => {
      bodies.push(body);
      return submitOrder(body);
    };
    const document = JSON.stringify({ version: '1.1.0', appCode: 'a'.repeat(4000), metadata: {} });
    const large = { signingScheme: 'eip1271', signature: `0x${'ab'.repeat(6000)}` };
    const uid = accepted(await book.orders.submit({ ...(await order({ appData: document })), ...large } as never));
    expect(await other.orders.get(uid)).toMatchObject({ fullAppData: document });
    expect(bodies).toMatchObject([{ appData: appDataHash(document) }]);
    expect(JSON.stringify(bodies).length).toBeLessThan(16_384);
    // Without an answer to the document, the order is not sent.
    upstream.faults.push('lost');
    const another = JSON.stringify({ version: '1.1.0', appCode: 'b'.repeat(4000), metadata: {} });
    const result = await book.orders.submit({ ...(await order({ appData: another })), ...large } as never);
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'UpstreamUnavailable', retryable: true } });
    expect(bodies).toHaveLength(1);
  });

  test('scenario 14: is refused, and not stored, while the edge blocks', async () => {
    const { book, order, upstream } = await world();
    upstream.faults.push('blocked');
    const created = await order();
    const result = await book.orders.submit(created);
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'UpstreamUnavailable', retryable: true } });
    accepted(await book.orders.submit(created));
  });

  test('scenario 17: that is stored late is not sent twice within a minute', async () => {
    const { book, order, upstream, pass, status } = await world();
    upstream.faults.push('late');
    const { uid } = (await book.orders.submit(await order())) as { uid: Hex };
    await pass(30_000);
    expect(await status(uid)).toBeUndefined();
    await upstream.deliver();
    await pass(60_000);
    expect(await status(uid)).toBe('open');
    expect(upstream.calls.submitOrder).toBe(1);
  });

  test('that never arrived is sent again after a minute, and once only', async () => {
    const { book, order, upstream, pass, status, log } = await world();
    upstream.faults.push('vanished', 'lost');
    const { uid } = (await book.orders.submit(await order())) as { uid: Hex };
    await pass(180_000, 2000);
    expect(await status(uid)).toBe('open');
    expect(await log(uid)).toEqual(['created']);
    expect(upstream.calls.submitOrder).toBe(2);
  });

  test('scenario 41: that a proxy has doubled is one order', async () => {
    const { book, order, upstream, status, log } = await world();
    upstream.faults.push('doubled');
    const uid = accepted(await book.orders.submit(await order()));
    expect(await status(uid)).toBe('open');
    expect(await log(uid)).toEqual(['created']);
  });

  test('is new although the list of its owner was read before its answer arrived', async () => {
    const { book, order, upstream, pass, alice } = await world();
    await book.upstream?.follow({ owners: [alice.address] });
    await pass(5000);
    const submit = upstream.submitOrder;
    upstream.submitOrder = async (each) => {
      const answer = await submit(each);
      await book.upstream?.refresh(alice.address);
      await pass(3000);
      return answer;
    };
    expect(await book.orders.submit(await order())).toMatchObject({ status: 'accepted', existing: false });
  });

  test('is not final while it is open, although it is followed no more', async () => {
    const { book, order, pass } = await world();
    const uid = accepted(await book.orders.submit(await order()));
    await pass(3000);
    await book.upstream?.unfollow({ uids: [uid] });
    expect(await book.upstream?.order(uid)).toMatchObject({ final: false });
    await pass(6_000_000, 500_000);
    expect(await book.upstream?.order(uid)).toMatchObject({ final: true });
  });

  test('is known after a crash between the answer and the insert', async () => {
    const { book, order, upstream, pass, status, restart, log } = await world();
    upstream.faults.push('lost');
    const { uid } = (await book.orders.submit(await order())) as { uid: Hex };
    await restart();
    await pass(5000);
    expect(await status(uid)).toBe('open');
    expect(await log(uid)).toEqual(['created']);
  });
});

describe('a queued order', () => {
  test('is stored at once, and sent when the other book can be reached', async () => {
    const { book, other, order, upstream, pass, status } = await world({ relay: 'queue' });
    upstream.setDown(true);
    const uid = accepted(await book.orders.submit(await order()));
    await settle();
    expect(await status(uid)).toBe('open');
    expect(await book.upstream?.order(uid)).toMatchObject({ relay: { state: 'queued' }, final: false });
    upstream.setDown(false);
    await pass(70_000, 5000);
    expect(await other.orders.get(uid)).toMatchObject({ status: 'open' });
    expect((await book.upstream?.order(uid))?.relay).toBeUndefined();
  });

  test('scenario 14: is kept while the edge blocks, with the reason, and is sent when it ends', async () => {
    const { book, other, order, upstream, pass, status } = await world({ relay: 'queue' });
    upstream.faults.push('blocked', 'blocked', 'blocked');
    const uid = accepted(await book.orders.submit(await order()));
    await pass(5000);
    expect(await book.upstream?.order(uid)).toMatchObject({ relay: { state: 'queued', reason: 'status 403' } });
    expect(await status(uid)).toBe('open');
    await pass(200_000, 5000);
    expect(await other.orders.get(uid)).toMatchObject({ status: 'open' });
    expect(upstream.calls.submitOrder).toBe(4);
  });

  test('scenario 17: that is stored late is sent once', async () => {
    const { book, order, upstream, pass, status } = await world({ relay: 'queue' });
    upstream.faults.push('late');
    const uid = accepted(await book.orders.submit(await order()));
    await pass(30_000);
    expect(await book.upstream?.order(uid)).toMatchObject({ relay: { state: 'unknown' } });
    await upstream.deliver();
    await pass(60_000);
    expect((await book.upstream?.order(uid))?.relay).toBeUndefined();
    expect([await status(uid), upstream.calls.submitOrder]).toEqual(['open', 1]);
  });

  test('whose outcome is unknown is not sent again after its owner has cancelled it', async () => {
    const { book, other, order, upstream, pass, status, cancellation, failures } = await world({ relay: 'queue' });
    upstream.faults.push('vanished');
    const uid = accepted(await book.orders.submit(await order()));
    await pass(2000);
    const result = await book.orders.cancel(await cancellation([uid]));
    expect(result).toMatchObject({ error: { code: 'OutcomeUnknown' } });
    await pass(300_000, 5000);
    expect(await status(uid)).toBe('cancelled');
    expect(await other.orders.get(uid)).toBeUndefined();
    expect(upstream.calls.submitOrder).toBe(1);
    expect(failures.map(String)).toEqual([expect.stringContaining('cancelled by its owner before it arrived')]);
  });

  test('is sent after the earlier ones of its owner', async () => {
    const { book, other, order, pass } = await world({ relay: 'queue' });
    const uids: Hex[] = [];
    for (let i = 0; i < 5; i++) uids.push(accepted(await book.orders.submit(await order())));
    await pass(10_000);
    const sent = (await other.orders.list({})).orders.map(({ uid }) => uid);
    expect(new Set(sent)).toEqual(new Set(uids));
    expect((await other.log.after(0, 100)).map((event) => event.uid)).toEqual(uids);
  });

  test('does not wait for one that was sent before it joined the lane of its owner', async () => {
    const store = memoryStore();
    const { book, other, order, pass, alice } = await world({ relay: 'queue' }, { store });
    const sent = accepted(await book.orders.submit(await order()));
    await pass(5000);
    const value = JSON.stringify({ uids: [sent] });
    await store.tasks.write([{ kind: 'lane', key: alice.address.toLowerCase(), to: { due: 0, value } }]);
    const uid = accepted(await book.orders.submit(await order()));
    await pass(130_000, 5000);
    expect(await other.orders.get(uid)).toMatchObject({ status: 'open' });
  });

  test('scenario 42: waits while the owner has too many orders, and ends with the reason', async () => {
    const { book, order, pass, status, failures } = await world(
      { relay: 'queue' },
      { other: { limits: { maxOpenOrders: 1 } } },
    );
    accepted(await book.orders.submit(await order({ validTo: 1_700_000_000 + 7200 })));
    const uid = accepted(await book.orders.submit(await order({ validTo: 1_700_000_000 + 5400 })));
    await pass(5000);
    expect(await book.upstream?.order(uid)).toMatchObject({
      relay: { state: 'queued', code: 'TooManyLimitOrders', sent: 1 },
    });
    await pass(3_500_000, 100_000);
    expect(await book.upstream?.order(uid)).toMatchObject({ relay: { sent: 1 } });
    await pass(200_000, 100_000);
    expect(await book.upstream?.order(uid)).toMatchObject({ relay: { sent: 2 } });
    await pass(1_900_000, 100_000);
    expect(await book.upstream?.order(uid)).toMatchObject({ relay: { state: 'rejected', code: 'TooManyLimitOrders' } });
    expect(await status(uid)).toBe('expired');
    expect(failures).toHaveLength(1);
  });

  test('scenario 15: that the other book rejects for good is cancelled here', async () => {
    const denied = { deniedTokens: ['0x0625afb445c3b6b7b929342a04a22599fd5dbb59'] };
    const { book, order, pass, status, log } = await world({ relay: 'queue' }, { other: denied });
    const uid = accepted(await book.orders.submit(await order()));
    await pass(3000);
    expect(await status(uid)).toBe('cancelled');
    expect(await log(uid)).toEqual(['created', 'cancelled']);
    expect(await book.upstream?.order(uid)).toMatchObject({ relay: { state: 'rejected', code: 'UnsupportedToken' } });
  });

  test('scenario 10: a replacement that the other book rejects leaves the old order open', async () => {
    const { book, other, order, pass, status, log } = await world(
      { relay: 'queue' },
      { other: { isActivelyBidOn: () => true } },
    );
    const old = accepted(await book.orders.submit(await order()));
    await pass(5000);
    const uid = accepted(await book.orders.submit(await order({ appData: replacing(old) })));
    expect(await status(old)).toBe('open');
    await pass(10_000);
    expect([await status(old), (await other.orders.get(old))?.status, await status(uid)]).toEqual([
      'open',
      'open',
      'cancelled',
    ]);
    expect(await log(old)).toEqual(['created']);
  });

  test('scenario 9: a replacement cancels the old order once, after the other book has', async () => {
    const { book, order, upstream, pass, status, log } = await world({ relay: 'queue' });
    const old = accepted(await book.orders.submit(await order()));
    await pass(5000);
    upstream.faults.push('lost');
    const uid = accepted(await book.orders.submit(await order({ appData: replacing(old) })));
    await pass(10_000);
    expect([await status(old), await status(uid)]).toEqual(['cancelled', 'open']);
    expect([await log(old), await log(uid)]).toEqual([['created', 'cancelled'], ['created']]);
  });

  test('a replacement waits for the order that it replaces', async () => {
    const { book, other, order, upstream, pass, status } = await world({ relay: 'queue' });
    const submit = upstream.submitOrder;
    let isFunded = false;
    upstream.submitOrder = async (each) => (isFunded ? submit(each) : REJECTED);
    const old = accepted(await book.orders.submit(await order()));
    await pass(5000);
    const uid = accepted(await book.orders.submit(await order({ appData: replacing(old) })));
    await pass(5000);
    isFunded = true;
    await pass(700_000, 5000);
    expect((await other.orders.get(old))?.status).toBe('cancelled');
    expect([await status(old), await status(uid)]).toEqual(['cancelled', 'open']);
  });

  test('does not wait for one that was rejected for a reason that may pass', async () => {
    const { book, other, order, upstream, pass } = await world({ relay: 'queue' });
    const submit = upstream.submitOrder;
    upstream.submitOrder = async (each) => (each['sellAmount'] === '777' ? REJECTED : submit(each));
    accepted(await book.orders.submit(await order({ sellAmount: '777' })));
    const uid = accepted(await book.orders.submit(await order()));
    await pass(5000);
    expect(await other.orders.get(uid)).toBeDefined();
  });

  test('that is sent keeps its answer when the turn of an earlier one ends meanwhile', async () => {
    const { book, order, upstream, pass, clock } = await world({ relay: 'queue' });
    const submit = upstream.submitOrder;
    const later = clock.now() + 600_000;
    const denied = { ...REJECTED, code: 'Forbidden' };
    const answers: ((answer: typeof denied) => void)[] = [];
    let sent = 0;
    upstream.submitOrder = async (each) => {
      if (clock.now() >= later && each['sellAmount'] === '777') return submit(each);
      if (each['sellAmount'] === '777') return REJECTED;
      if (clock.now() < later) return { status: 'blocked', reason: 'status 403', until: later };
      if (++sent > 1) return denied;
      return new Promise((resolve) => answers.push(resolve));
    };
    const valid = { validTo: Math.floor(clock.now() / 1000) + 3600 };
    accepted(await book.orders.submit(await order({ ...valid, sellAmount: '777' })));
    const uid = accepted(await book.orders.submit(await order(valid)));
    await pass(610_000, 5000);
    await expect.poll(() => answers.length).toBe(1);
    answers[0]?.(denied);
    await pass(130_000, 5000);
    expect(sent).toBe(1);
    expect(await book.upstream?.order(uid)).toMatchObject({ relay: { state: 'rejected', code: 'Forbidden', sent: 1 } });
  });

  test('shows that it waits for an earlier one whose outcome is unknown', async () => {
    const { book, other, order, upstream, pass } = await world({ relay: 'queue' });
    upstream.faults.push('vanished');
    accepted(await book.orders.submit(await order()));
    const uid = accepted(await book.orders.submit(await order()));
    await pass(5000);
    expect(await book.upstream?.order(uid)).toMatchObject({
      relay: { state: 'queued', reason: 'waits for an earlier order of its owner' },
    });
    await pass(130_000, 5000);
    expect(await other.orders.get(uid)).toBeDefined();
  });
});
