import type { ContractSignatureResult, OrderBookOptions } from 'intentbook';
import { createApi } from 'intentbook';
import { expect, test } from 'vitest';
import { FUNDED, scriptedChain } from '../../support/chain.ts';
import {
  admissionFixture,
  alice,
  BOB,
  byContract,
  orderOf,
  outcome,
  presigned,
  rejection,
  settle,
} from './admission-fixture.ts';

/** A book whose node does not respond to signature checks until they are answered. */
async function slowSignatures(options: Partial<OrderBookOptions> = {}) {
  const answers: ((answer: ContractSignatureResult) => void)[] = [];
  const chain = scriptedChain({
    balanceAndAllowance: FUNDED,
    isValidSignature: () => new Promise<ContractSignatureResult>((resolve) => answers.push(resolve)),
  });
  const fixture = await admissionFixture({ chain, ...options });
  const count = (question: string) => chain.recordedCalls.filter((call) => call.question === question).length;
  return { ...fixture, chain, answers, count };
}

/** Contract orders that name Alice as their owner, although nothing proves it. */
async function flood(book: Awaited<ReturnType<typeof slowSignatures>>['book'], size: number, client?: string) {
  const options = client === undefined ? {} : { client };
  const orders = await Promise.all(Array.from({ length: size }, async () => byContract(await orderOf())));
  return orders.map((order) => book.orders.submit(order, options));
}

test('signed order does not wait for contract orders that a stranger sends in the name of its owner', async () => {
  await using fixture = await slowSignatures();
  const { book, count } = fixture;
  const pending = await flood(book, 20);
  await settle();
  expect(count('isValidSignature')).toBeLessThanOrEqual(4); // all others wait for the node
  expect(await outcome(book, await orderOf())).toBe('accepted');
  expect(pending).toHaveLength(20);
});

test('presign order in the name of an owner does not use the queue of its signed orders', async () => {
  const denied = { asked: 0 };
  await using fixture = await slowSignatures({
    isDenied: () => {
      denied.asked++;
      return denied.asked <= 4 ? new Promise<boolean>(() => {}) : false;
    },
  });
  for (let i = 0; i < 8; i++) void fixture.book.orders.submit(presigned({ ...(await orderOf()), from: alice }));
  await settle();
  expect(denied.asked).toBe(4);
  expect(await outcome(fixture.book, await orderOf())).toBe('accepted');
});

test('contract orders of one client do not delay those of another client', async () => {
  await using fixture = await slowSignatures();
  const { book, chain, answers } = fixture;
  await flood(book, 20, '203.0.113.1');
  await settle();
  const before = chain.recordedCalls.length;
  const order = byContract(await orderOf());
  const honest = book.orders.submit(order, { client: '198.51.100.1' });
  await settle();
  expect(
    chain.recordedCalls
      .slice(before)
      .map(({ question }) => question)
      .sort(),
  ).toEqual(['balanceAndAllowance', 'isValidSignature']);
  answers.at(-1)?.({ valid: true });
  expect((await honest).status).toBe('accepted');
});

test('contract orders above the bound of the queue are rejected with a retryable error', async () => {
  await using fixture = await slowSignatures();
  const { book, failures } = fixture;
  await flood(book, 40, '203.0.113.1');
  await settle();
  const result = await book.orders.submit(byContract(await orderOf()), { client: '203.0.113.1' });
  expect(result).toMatchObject({ status: 'rejected', error: { code: 'RateLimited', data: { retryAfter: 1 } } });
  expect(await outcome(book, await orderOf())).toBe('accepted');
  expect(failures).toEqual([]);
});

test('contract orders that wait longer than the timeout of a check are rejected, and no failure is reported', async () => {
  await using fixture = await slowSignatures();
  const { book, clock, count, failures } = fixture;
  const results = await flood(book, 20, '203.0.113.1');
  await settle();
  const started = count('isValidSignature');
  clock.advance(5000);
  const codes: string[] = [];
  for (const result of results) {
    const decided = await result;
    codes.push(decided.status === 'rejected' ? decided.error.code : decided.status);
  }
  // The node was queried for these orders only, so only they say something about it.
  const queried = codes.filter((code) => code === 'ChainUnavailable');
  expect(queried).toHaveLength(started);
  expect(codes.filter((code) => code === 'RateLimited')).toHaveLength(20 - started);
  expect(failures).toHaveLength(started);
  expect(count('isValidSignature')).toBe(started);
});

test('order that waits too long for a policy function is rejected with a retryable error, not as a failure', async () => {
  await using fixture = await slowSignatures({ isDenied: () => new Promise<boolean>(() => {}) });
  const { book, clock, failures } = fixture;
  const results = await flood(book, 5, '203.0.113.1');
  await settle();
  clock.advance(5000);
  expect(await results[4]).toMatchObject({
    status: 'rejected',
    error: { code: 'RateLimited', data: { retryAfter: 1 } },
  });
  expect(await results[0]).toMatchObject({ status: 'rejected', error: { code: 'InternalServerError' } });
  expect(failures).toHaveLength(4); // of the functions that were called
});

test('waiting checks of a client that has disconnected are skipped', async () => {
  await using fixture = await slowSignatures();
  const { book, answers, count } = fixture;
  await flood(book, 20, '203.0.113.1');
  const gone = { aborted: false };
  const order = byContract(await orderOf());
  const leaving = book.orders.submit(order, { client: '203.0.113.1', signal: gone });
  leaving.catch(() => {}); // checked below
  await settle();
  gone.aborted = true;
  const total = () => count('isValidSignature') + count('balanceAndAllowance');
  for (let i = 0; i < 60; i++) {
    answers.at(i)?.({ valid: true });
    await settle();
  }
  await expect(leaving).rejects.toThrow('no longer needs');
  expect(total()).toBe(40);
});

test('contract order over HTTP waits in the queue of its client address', async () => {
  await using fixture = await slowSignatures();
  const api = createApi(fixture.book);
  const send = async (remoteAddress: string) => {
    const body = { type: 'parsed', value: byContract(await orderOf()) } as const;
    const header = (name: string) => (name === 'content-type' ? 'application/json' : undefined);
    void api.handle({ method: 'POST', path: '/api/v1/orders', query: '', header, body, remoteAddress });
  };
  for (let i = 0; i < 8; i++) await send('203.0.113.1');
  await settle();
  const before = fixture.chain.recordedCalls.length;
  await send('203.0.113.1');
  await settle();
  expect(fixture.chain.recordedCalls).toHaveLength(before);
  await send('198.51.100.1');
  await settle();
  expect(fixture.chain.recordedCalls).toHaveLength(before + 2);
});

test('slow rejection of the signature has precedence over a quick rejection of the funds', async () => {
  let reject: (answer: ContractSignatureResult) => void = () => {};
  const chain = scriptedChain({
    balanceAndAllowance: { balance: 0n, allowance: 0n },
    isValidSignature: () =>
      new Promise<ContractSignatureResult>((resolve) => {
        reject = resolve;
      }),
  });
  await using fixture = await admissionFixture({ chain });
  const result = rejection(fixture.book, byContract(await orderOf({}, BOB)));
  await settle(); // the funds are rejected here
  const signature = chain.recordedCalls.find(({ question }) => question === 'isValidSignature');
  expect(signature?.signal.aborted).toBe(false);
  reject({ valid: false, reason: 'reverted' });
  expect((await result).code).toBe('InvalidSignature');
});
